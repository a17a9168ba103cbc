//! What is read of requests as clients write them, and of what is none.

use super::super::jute::Writer;
use super::*;
use proptest::prelude::*;

fn request(write: impl FnOnce(&mut Writer)) -> Request {
    let mut writer = Writer::new();
    write(&mut writer);
    Request::read(writer.frame().slice(4..)).expect("it has a header")
}

fn open(writer: &mut Writer) {
    writer.vector(&[Acl::open()], |writer, acl| {
        writer.int(acl.permissions).string(&acl.scheme).string(&acl.id);
    });
}

#[test]
fn a_create_is_read_as_clients_write_it() {
    let read = request(|writer| {
        writer.int(1).int(kind::CREATE).string("/a").buffer(b"x");
        open(writer);
        writer.int(3);
    });
    let (path, data, acl) = ("/a".to_owned(), Some(Bytes::from_static(b"x")), vec![Acl::open()]);
    let (time_ms, is_container, wants_stat) = (None, false, false);
    let create = Change::Create { path, data, acl, flags: 3, wants_stat, time_ms, is_container };
    assert_eq!(read, Request { xid: 1, asked: Asked::Change(create) });
    assert_eq!(read.asked.to_string(), "create -s -e /a x");
}

#[test]
fn a_multi_ends_where_its_last_header_says_so() {
    let read = request(|writer| {
        writer.int(9).int(kind::MULTI);
        writer.int(kind::CHECK).bool(false).int(-1).string("/a").int(3);
        writer.int(kind::DELETE).bool(false).int(-1).string("/a").int(-1);
        writer.int(-1).bool(true).int(-1);
    });
    assert_eq!(read.asked.to_string(), "multi check /a 3, delete /a -1");
    let endless = request(|writer| {
        writer.int(9).int(kind::MULTI);
    });
    assert_eq!(endless.asked, Asked::Damaged { is_change: true });
}

#[test]
fn what_is_not_the_record_it_says_is_damaged_and_keeps_its_number() {
    for kind in [kind::CREATE, kind::EXISTS, kind::SET_WATCHES, kind::SET_ACL, kind::AUTH] {
        let read = request(|writer| {
            writer.int(5).int(kind).int(1_000_000);
        });
        assert_eq!((read.xid, read.asked), (5, Asked::Damaged { is_change: changes(kind) }));
    }
    assert_eq!(Request::read(Bytes::from_static(b"123")), Err(Damaged));
}

#[test]
fn an_old_client_says_nothing_of_reads_only() {
    let hello = |old: bool| {
        let mut writer = Writer::new();
        writer.int(0).long(7).int(10_000).long(0).buffer(&[0; 16]);
        if !old {
            writer.bool(false);
        }
        Hello::read(writer.frame().slice(4..)).expect("it is one")
    };
    assert!(!hello(true).says_read_only && hello(false).says_read_only);
    assert_eq!(hello(true).last_zxid, 7);
}

proptest! {
    #[test]
    fn any_bytes_are_a_request_or_none(
        xid in any::<i32>(),
        kind in prop_oneof![-12..30_i32, 99..110_i32, any::<i32>()],
        rest in proptest::collection::vec(any::<u8>(), 0..120),
    ) {
        let frame = [&xid.to_be_bytes()[..], &kind.to_be_bytes()[..], &rest[..]].concat();
        let read = Request::read(Bytes::from(frame.clone())).expect("it has a header");
        prop_assert_eq!(read.xid, xid);
        // What is said of it is short, whatever it is.
        prop_assert!(read.asked.to_string().len() < 2_000);
        let _any = Hello::read(Bytes::from(frame));
    }
}
