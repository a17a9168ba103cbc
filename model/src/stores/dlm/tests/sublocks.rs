//! Parents and sublocks: VMS has them, Linux takes the argument and looks away.

use super::super::*;

const FILE: Name = Name::of(1);
const A_FILE: Handle = Handle { owner: 0, number: 0 };
const A_PAGE: Handle = Handle { owner: 0, number: 1 };
const B_PAGE: Handle = Handle { owner: 1, number: 1 };

fn wish(mode: Mode) -> Wish {
    Wish { mode, flags: Flags::NONE, value: 0 }
}

fn status(notices: &Notices) -> Option<Status> {
    notices.iter().rev().find_map(|(_, notice)| match notice {
        Notice::Completed { status, .. } => Some(*status),
        Notice::Blocks(_) | Notice::Queued => None,
    })
}

fn requested(
    manager: &mut Manager,
    handle: Handle,
    name: Name,
    mode: Mode,
    settings: &Settings,
) -> Option<Status> {
    let mut notices = Notices::new();
    manager.request(handle, name, wish(mode), settings, &mut notices);
    status(&notices)
}

#[test]
fn a_sublock_needs_a_granted_parent_of_its_own_process_in_vms_only() {
    let page = FILE.below(3);
    for (settings, expected) in
        [(Settings::VMS, Some(Status::Refused(Refusal::Parent))), (Settings::LINUX, Some(Status::Granted))]
    {
        let mut manager = Manager::default();
        requested(&mut manager, A_FILE, FILE, Mode::Cw, &settings);
        assert_eq!(requested(&mut manager, B_PAGE, page, Mode::Ex, &settings), expected);
        let own = requested(&mut manager, A_PAGE, FILE.below(4), Mode::Ex, &settings);
        assert_eq!(own, Some(Status::Granted));
    }
}

#[test]
fn a_parent_with_sublocks_does_not_go_off_in_vms() {
    let mut manager = Manager::default();
    requested(&mut manager, A_FILE, FILE, Mode::Cw, &Settings::VMS);
    requested(&mut manager, A_PAGE, FILE.below(3), Mode::Ex, &Settings::VMS);
    let released = |manager: &mut Manager, handle| {
        let mut notices = Notices::new();
        manager.release(handle, Flags::NONE, 0, &Settings::VMS, &mut notices);
        status(&notices)
    };
    assert_eq!(released(&mut manager, A_FILE), Some(Status::Refused(Refusal::Sublocks)));
    assert_eq!(released(&mut manager, A_PAGE), Some(Status::Released));
    assert_eq!(released(&mut manager, A_FILE), Some(Status::Released));
    assert!(manager.resources.is_empty());
}

#[test]
fn names_are_scoped_by_their_parents() {
    let (database, table) = (Name::of(1), Name::of(1).below(2));
    let (record, field) = (table.below(3), table.below(3).below(4));
    assert_eq!(field.parent(), Some(record));
    assert_eq!(record.parent().and_then(Name::parent), Some(database));
    assert_eq!(database.parent(), None);
    assert_eq!(field.to_string(), "R1.2.3.4");
    assert_ne!(table, Name::of(2).below(2));
}
