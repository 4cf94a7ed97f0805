use super::*;
use crate::{Change, PAGE_SIZE, apply};

fn sample() -> Boot {
    Boot {
        version: WRITTEN_VERSION,
        create_version: 655,
        status: 0x4001_0009,
        next_object_id: 2_073_058_421,
        created: DateTime::new(41_000, 16_774_428).unwrap(),
        name: "Company \u{e9}".to_owned(),
        database_id: 7,
        compatibility: 110,
        row_version: 2000,
        full_backup_lsn: Lsn::new(30, 1, 2).unwrap(),
        checkpoint_lsn: Lsn::new(32, 280, 2).unwrap(),
        collation: 872_468_488,
        family: Guid([7; 16]),
        forks: Forks::new(Guid([8; 16])).renewed(Guid([6; 16]), Lsn::new(1, 2, 3).unwrap()),
        differential_base: Guid([9; 16]),
        catalog_page: PageId::new(1, 20),
        next_unit: 0x0100_0000_005F,
        own: OwnBoot {
            clean_shutdown: true,
            recovery_model: RecoveryModel::Simple,
            page_verify: PageVerify::TornPageDetection,
            target_recovery_s: 60,
            log_incarnation: 0x1122_3344_5566_7788,
            log_backup_lsn: Lsn::new(31, 5, 6).unwrap(),
            read_only: true,
            delayed_durability: DelayedDurability::Forced,
            user_access: UserAccess::Restricted,
            mixed_pages: true,
            auto_create_statistics: false,
            auto_update_statistics: true,
            defaults: SessionDefaults::from_bits(9),
            compatibility_level: 150,
        },
    }
}

#[test]
fn a_boot_page_survives_the_round_trip_and_has_the_frame_of_real_ones() {
    let mut page = [0xEE; PAGE_SIZE];
    sample().format(&mut page).unwrap();
    let view = Page::new(&page);
    view.audit().unwrap();
    assert_eq!((view.page_id(), view.unit()), (BOOT_PAGE, SYSTEM_MAPS_UNIT));
    assert_eq!(
        (view.free_count(), view.free_data(), view.slot_count()),
        (6590, 1600, 1)
    );
    assert_eq!(page[96..104], [0, 0, 0xe0, 0x05, 0xc2, 0x02, 0x8f, 0x02]);
    assert_eq!(page[400..404], [b' '; 4]);
    assert_eq!(Boot::decode(&page).unwrap(), sample());
}

#[test]
fn the_logged_form_makes_the_same_page() {
    let (mut direct, mut redone) = ([1; PAGE_SIZE], [1; PAGE_SIZE]);
    sample().format(&mut direct).unwrap();
    apply(&Change::Format(Boot::page_init()), &mut redone).unwrap();
    let record = sample().record().unwrap();
    apply(
        &Change::HeapPut {
            slot: 0,
            bytes: &record,
        },
        &mut redone,
    )
    .unwrap();
    assert!(direct == redone);
    let lsn = Lsn::new(40, 1, 1).unwrap();
    apply(&field::CHECKPOINT_LSN.change(&lsn.to_bytes()), &mut redone).unwrap();
    apply(&field::CLEAN_SHUTDOWN.change(&[0]), &mut redone).unwrap();
    let own = OwnBoot {
        clean_shutdown: false,
        ..sample().own
    };
    let changed = Boot {
        checkpoint_lsn: lsn,
        own,
        ..sample()
    };
    assert_eq!(Boot::decode(&redone).unwrap(), changed);
}

#[test]
fn a_foreign_boot_page_has_default_own_fields() {
    let mut page = [0; PAGE_SIZE];
    sample().format(&mut page).unwrap();
    field::MAGIC.set(&mut page, [0; 8]);
    assert_eq!(Boot::decode(&page).unwrap().own, OwnBoot::default());
}

#[test]
fn other_pages_and_short_records_are_no_boot_pages() {
    let mut page = [0; PAGE_SIZE];
    let error = BootError::NotABootPage {
        kind: PageType::Unknown(0),
    };
    assert_eq!(Boot::decode(&page), Err(error));
    sample().format(&mut page).unwrap();
    page[98..100].copy_from_slice(&500_u16.to_le_bytes());
    assert_eq!(Boot::decode(&page), Err(BootError::Damaged { len: 500 }));
    page[98..100].copy_from_slice(&9000_u16.to_le_bytes());
    assert_eq!(Boot::decode(&page), Err(BootError::Damaged { len: 0 }));
    // Version 611 ends its record before the counter of allocation units.
    page[98..100].copy_from_slice(&732_u16.to_le_bytes());
    let old = Boot::decode(&page).unwrap();
    assert_eq!((old.next_unit, old.own), (0, OwnBoot::default()));
    let nameless = Boot {
        name: String::new(),
        ..sample()
    };
    assert_eq!(nameless.record(), Err(BootError::Name { units: 0 }));
}
