//! Which way the value block moves, when it is in doubt, and where the lock-manager article, *Distributed lock manager*, and the kernel
//! differ.

use super::super::*;

const HANDLE: Handle = Handle { owner: 0, number: 0 };
const OTHER: Handle = Handle { owner: 1, number: 0 };

fn wish(mode: Mode, value: u32) -> Wish {
    Wish { mode, flags: Flags::VALBLK, value }
}

/// A resource that holds 7, with a lock of the first one.
fn with_seven(mode: Mode, settings: &Settings) -> Resource {
    let mut resource = Resource::default();
    resource.value.content = 7;
    resource.request(HANDLE, wish(mode, 0), settings, &mut Notices::new());
    resource
}

fn given(notices: &Notices) -> Option<(u32, bool)> {
    notices.iter().find_map(|(_, notice)| match notice {
        Notice::Completed { value: Some((value, is_valid)), .. } => Some((value.content, *is_valid)),
        Notice::Completed { .. } | Notice::Blocks(_) | Notice::Queued => None,
    })
}

#[test]
fn a_conversion_reads_writes_or_leaves_the_value_block_as_the_kernel_says() {
    // `dlm_lvb_operations`: 1 to the caller, 0 to the resource, -1 nowhere.
    let kernel = [
        [1, 1, 1, 1, 1, 1],
        [-1, 1, 1, 1, 1, 1],
        [-1, -1, 1, 1, 1, 1],
        [-1, -1, -1, 1, 1, 1],
        [0, 0, 0, 0, 0, 1],
        [0, 0, 0, 0, 0, 0],
    ];
    for from in Mode::ALL {
        for to in Mode::ALL {
            let mut resource = with_seven(from, &Settings::LINUX);
            let mut notices = Notices::new();
            resource.convert(HANDLE, wish(to, 9), &Settings::LINUX, &mut notices);
            let moved = match (given(&notices), resource.value.content) {
                (Some((7, true)), 7) => 1,
                (None, 9) => 0,
                (None, 7) => -1,
                other => panic!("{from} to {to}: {other:?}"),
            };
            assert_eq!(moved, kernel[from as usize][to as usize], "{from} to {to}");
        }
    }
}

#[test]
fn who_goes_off_writes_if_it_could_write() {
    for mode in Mode::ALL {
        let mut resource = with_seven(mode, &Settings::LINUX);
        resource.request(OTHER, wish(Mode::Nl, 0), &Settings::LINUX, &mut Notices::new());
        resource.release(HANDLE, Flags::VALBLK, 9, &Settings::LINUX, &mut Notices::new());
        let expected = if matches!(mode, Mode::Pw | Mode::Ex) { 9 } else { 7 };
        assert_eq!(resource.value.content, expected, "{mode}");
    }
}

#[test]
fn a_null_lock_is_given_the_value_block_by_the_kernel_and_not_by_document_004() {
    let document = Settings { value_readers: ValueReaders::AllButNull, ..Settings::VMS };
    for mode in Mode::ALL {
        for (settings, gives) in [(Settings::LINUX, true), (document, mode != Mode::Nl)] {
            let (mut resource, mut notices) = (Resource::default(), Notices::new());
            resource.request(HANDLE, wish(mode, 0), &settings, &mut notices);
            assert_eq!(given(&notices).is_some(), gives, "{mode} {settings:?}");
        }
    }
}

#[test]
fn who_dies_able_to_write_leaves_a_value_in_doubt_until_somebody_writes() {
    for mode in Mode::ALL {
        let mut resource = with_seven(mode, &Settings::LINUX);
        resource.request(OTHER, wish(Mode::Nl, 0), &Settings::LINUX, &mut Notices::new());
        resource.purge(HANDLE.owner, &Settings::LINUX, &mut Notices::new());
        let mut notices = Notices::new();
        resource.convert(OTHER, wish(Mode::Ex, 0), &Settings::LINUX, &mut notices);
        let is_valid = !matches!(mode, Mode::Pw | Mode::Ex);
        assert_eq!(given(&notices), Some((7, is_valid)), "{mode}");
        resource.convert(OTHER, wish(Mode::Nl, 9), &Settings::LINUX, &mut notices);
        let mut notices = Notices::new();
        resource.convert(OTHER, wish(Mode::Cr, 0), &Settings::LINUX, &mut notices);
        assert_eq!(given(&notices), Some((9, true)), "{mode}");
    }
}

#[test]
fn who_dies_while_it_waits_to_write_leaves_no_doubt_and_one_that_converts_away_from_writing_does() {
    for (from, is_doubtful) in [(Mode::Nl, false), (Mode::Pr, false), (Mode::Pw, true)] {
        let mut resource = with_seven(from, &Settings::LINUX);
        resource.request(OTHER, wish(Mode::Cr, 0), &Settings::LINUX, &mut Notices::new());
        resource.convert(HANDLE, wish(Mode::Ex, 0), &Settings::LINUX, &mut Notices::new());
        assert_eq!(resource.converting.len(), 1, "{from}");
        resource.purge(HANDLE.owner, &Settings::LINUX, &mut Notices::new());
        assert_eq!(resource.is_doubtful, is_doubtful, "{from}");
    }
}

#[test]
fn only_linux_lets_a_writer_leave_a_value_that_is_not_valid() {
    let mut resource = with_seven(Mode::Ex, &Settings::LINUX);
    resource.request(OTHER, wish(Mode::Nl, 0), &Settings::LINUX, &mut Notices::new());
    resource.release(HANDLE, Flags::VALBLK.and(Flags::IVVALBLK), 9, &Settings::LINUX, &mut Notices::new());
    assert!(resource.is_doubtful && resource.value.content == 7);
}

#[test]
fn the_value_block_goes_with_the_last_lock() {
    let (mut manager, name) = (Manager::default(), Name::of(1));
    manager.request(HANDLE, name, wish(Mode::Ex, 0), &Settings::VMS, &mut Notices::new());
    manager.release(HANDLE, Flags::VALBLK, 9, &Settings::VMS, &mut Notices::new());
    assert_eq!(manager.resource(name), None);
    let mut notices = Notices::new();
    manager.request(HANDLE, name, wish(Mode::Pr, 0), &Settings::VMS, &mut notices);
    assert_eq!(given(&notices), Some((0, true)), "and nothing says that it was lost");
}
