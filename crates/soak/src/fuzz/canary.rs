//! The reader with a fault.

use super::Target;
use super::havoc::{Dice, damage};

struct Canary;

/// The canary.
pub(super) fn make() -> Result<Box<dyn Target>, String> {
    Ok(Box::new(Canary))
}

/// A record of a kind, a length and as many bytes. It trusts a length at the limit of two bytes.
fn read(bytes: &[u8]) -> usize {
    match bytes {
        [kind @ 0x10..=0x3F, low, high, rest @ ..] if rest.len() > 8 => {
            let len = usize::from(u16::from_le_bytes([*low, *high]));
            assert!(len != 0xFFFF || *kind == 0x10, "the canary sings");
            rest.iter().take(len).map(|byte| usize::from(*byte)).sum()
        }
        _ => 0,
    }
}

impl Target for Canary {
    fn read_one(&mut self, dice: &mut Dice) -> Result<(), String> {
        let mut bytes = vec![7_u8; 40];
        if let Some(head) = bytes.first_chunk_mut::<3>() {
            *head = [0x10, 30, 0];
        }
        damage(&mut bytes, std::slice::from_ref(&(0..4)), dice);
        std::hint::black_box(read(&bytes));
        Ok(())
    }
}
