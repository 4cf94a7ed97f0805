//! Keys of encrypted backups. `SERVER CERTIFICATE = name` and `SERVER ASYMMETRIC KEY = name` name a key: the
//! file `keys/NAME.key` in the directory of the instance, or the environment variable
//! `FURROW_BACKUP_KEY_NAME`.

use super::option_text::value_text;
use furrow_backup::KeyRing;
use furrow_backup::media::BackupKey;
use furrow_context::error::{Result, refuse, unsupported};
use furrow_context::run::Run;
use furrow_tsql::ast::option::{Opt, OptValue};

/// Subdirectory of the instance's directory that has the keys.
const DIRECTORY: &str = "keys";

/// The keys that exist now.
pub(super) fn ring(run: &Run<'_>) -> KeyRing {
    let mut ring = KeyRing::from_environment();
    let instance = run.cx.server.instance();
    if let Some(directory) = &instance.config().directory {
        ring.add_directory(&**instance.volume(), &directory.join(DIRECTORY));
    }
    ring
}

/// The key that `ENCRYPTION (ALGORITHM = AES_256, SERVER CERTIFICATE = name)` names.
pub(super) fn asked(run: &mut Run<'_>, option: &Opt) -> Result<BackupKey> {
    let Some(OptValue::List(list)) = &option.value else {
        return refuse(3217, &["ENCRYPTION".into()]);
    };
    let (mut algorithm, mut named) = (None, None);
    for option in list {
        let value = value_text(run, option)?;
        match &*option.name {
            "ALGORITHM" => algorithm = Some(value.to_ascii_uppercase()),
            "SERVER CERTIFICATE" => named = Some(("certificate", value)),
            "SERVER ASYMMETRIC KEY" => named = Some(("asymmetric key", value)),
            _ => return refuse(3217, &["ENCRYPTION".into()]),
        }
    }
    match algorithm.as_deref() {
        Some("AES_256") => {}
        Some(other @ ("AES_128" | "AES_192" | "TRIPLE_DES_3KEY")) => {
            return Err(unsupported(&format!("ALGORITHM = {other}")));
        }
        _ => return refuse(3217, &["ALGORITHM".into()]),
    }
    let Some((kind, name)) = named else {
        return refuse(3217, &["ENCRYPTION".into()]);
    };
    match ring(run).named(&name) {
        Ok(Some(key)) => Ok(key.clone()),
        Ok(None) => refuse(15_151, &[kind.into(), name.into()]),
        Err(_) => refuse(33_101, &[kind.into(), name.into(), kind.into()]),
    }
}
