//! What znodes do.

use crate::client::*;
use bytes::Buf;

#[test]
fn a_znode_holds_data_under_a_version() {
    with_one(async |mut client| {
        assert_eq!(client.create("/a", b"one", PERSISTENT).await, "/a");
        let (data, created) = client.data("/a", false).await;
        assert_eq!((&data[..], created.version, created.data_bytes), (&b"one"[..], 0, 3));
        assert_eq!((created.czxid, created.mzxid, created.owner), (client.zxid, client.zxid, 0));
        let changed = stat(&mut client.ask(op::SET_DATA, set("/a", b"", 0)).await.ok());
        assert_eq!((changed.version, changed.data_bytes, changed.czxid), (1, 0, created.czxid));
        assert_eq!(changed.mzxid, client.zxid);
        assert_eq!(client.ask(op::SET_DATA, set("/a", b"", 0)).await.error, -103, "another version");
        assert_eq!(client.ask(op::DELETE, at_version("/a", 0)).await.error, -103);
        assert_eq!(client.ask(op::DELETE, at_version("/a", 1)).await.error, 0);
        assert_eq!(client.exists("/a", false).await, None);
        assert_eq!(client.ask(op::GET_DATA, look("/a", false)).await.error, -101);
        assert_eq!(client.ask(op::SET_DATA, set("/a", b"", -1)).await.error, -101);
        assert_eq!(client.delete("/a").await, -101);
    });
}

#[test]
fn what_holds_null_is_not_what_holds_no_bytes() {
    with_one(async |mut client| {
        let null = |path: &str| Body::new().string(path).int(-1);
        for (kind, asked, length) in [
            (op::CREATE, null("/a").open().int(PERSISTENT), -1),
            (op::SET_DATA, set("/a", b"", -1), 0),
            (op::SET_DATA, null("/a").int(-1), -1),
        ] {
            assert_eq!(client.ask(kind, asked).await.error, 0);
            let mut answer = client.ask(op::GET_DATA, look("/a", false)).await.ok();
            assert_eq!(answer.get_i32(), length);
            assert_eq!(stat(&mut answer).data_bytes, 0);
        }
    });
}

#[test]
fn znodes_hang_below_each_other_at_any_depth() {
    with_one(async |mut client| {
        assert_eq!(client.ask(op::CREATE, create("/a/b", b"", PERSISTENT)).await.error, -101, "no parent");
        for path in ["/a", "/a/b", "/a/b/c", "/a/b/c/d-0000000003", "/a/b/c/d-0000000003/e"] {
            assert_eq!(client.create(path, b"", PERSISTENT).await, path);
            assert_eq!(
                client.ask(op::CREATE, create(path, b"", PERSISTENT)).await.error,
                -110,
                "{path} exists"
            );
        }
        assert_eq!(client.children("/", false).await, ["a", "zookeeper"]);
        assert_eq!(client.children("/a/b/c", false).await, ["d-0000000003"]);
        assert_eq!(client.delete("/a/b").await, -111, "not empty");
        let mut below = client.ask(op::GET_CHILDREN_2, look("/a/b/c", false)).await.ok();
        assert_eq!(texts(&mut below), ["d-0000000003"]);
        assert_eq!(stat(&mut below).children, 1);
        for path in ["/a/b/c/d-0000000003/e", "/a/b/c/d-0000000003", "/a/b/c"] {
            assert_eq!(client.delete(path).await, 0, "{path}");
        }
        let parent = client.exists("/a/b", false).await.expect("it is there");
        assert_eq!((parent.children, parent.cversion, parent.pzxid), (0, 2, client.zxid));
    });
}

#[test]
fn sequential_names_count_what_was_created_below() {
    with_one(async |mut client| {
        client.create("/q", b"", PERSISTENT).await;
        assert_eq!(client.create("/q/x-", b"", SEQUENTIAL).await, "/q/x-0000000000");
        assert_eq!(client.create("/q/plain", b"", PERSISTENT).await, "/q/plain");
        assert_eq!(client.create("/q/", b"", SEQUENTIAL).await, "/q/0000000002");
        assert_eq!(client.delete("/q/x-0000000000").await, 0);
        assert_eq!(client.create("/q/x-", b"", EPHEMERAL_SEQUENTIAL).await, "/q/x-0000000003");
        client.create("/q/x-0000000005", b"", PERSISTENT).await;
        let taken = client.ask(op::CREATE, create("/q/x-", b"", SEQUENTIAL)).await;
        assert_eq!(taken.error, -110, "the number that is next is somebody's name");
        let mut created = client.ask(op::CREATE_2, create("/q/y-0000000001", b"xy", SEQUENTIAL)).await.ok();
        assert_eq!(text(&mut created), "/q/y-00000000010000000005");
        assert_eq!(stat(&mut created).data_bytes, 2);
        // What hangs below a sequential one.
        assert_eq!(client.create("/q/0000000002/z", b"", PERSISTENT).await, "/q/0000000002/z");
        assert_eq!(client.children("/q/0000000002", false).await, ["z"]);
    });
}

#[test]
fn what_is_ephemeral_has_no_children_and_an_owner() {
    with_one(async |mut client| {
        client.create("/e", b"", EPHEMERAL).await;
        assert_eq!(client.exists("/e", false).await.expect("it is there").owner, client.session);
        assert_eq!(client.ask(op::CREATE, create("/e/below", b"", PERSISTENT)).await.error, -108);
        let mut all = client.ask(op::GET_EPHEMERALS, Body::new().string("/")).await.ok();
        assert_eq!(texts(&mut all), ["/e"]);
    });
}

#[test]
fn several_changes_happen_together_or_not_at_all() {
    with_one(async |mut client| {
        client.create("/m", b"", PERSISTENT).await;
        let all = part(op::CHECK, at_version("/m", 0))
            .more(part(op::CREATE, create("/m/x-", b"", EPHEMERAL_SEQUENTIAL)))
            .more(part(op::SET_DATA, set("/m", b"v", 0)))
            .more(part(op::CREATE_2, create("/m/y", b"", PERSISTENT)))
            .more(part(op::DELETE, at_version("/m/y", -1)))
            .more(done());
        let mut body = client.ask(op::MULTI, all).await.ok();
        let head = |kind: i32, body: &mut bytes::Bytes| {
            assert_eq!((body.get_i32(), body.get_u8(), body.get_i32()), (kind, 0, 0));
        };
        head(op::CHECK, &mut body);
        head(op::CREATE, &mut body);
        assert_eq!(text(&mut body), "/m/x-0000000000");
        head(op::SET_DATA, &mut body);
        let changed = stat(&mut body);
        assert_eq!((changed.version, changed.data_bytes, changed.mzxid), (1, 1, client.zxid));
        // In a `multi` it is answered like the other one.
        head(op::CREATE, &mut body);
        assert_eq!(text(&mut body), "/m/y");
        head(op::DELETE, &mut body);
        assert_eq!((body.get_i32(), body.get_u8(), body.get_i32()), (-1, 1, -1));
        assert!(body.is_empty());
        // The error is told of the one that failed, the others were fine or are not tried.
        for (wrong, code) in [
            (part(op::CHECK, at_version("/m", 0)), -103),
            (part(op::CREATE, create("/m/./z", b"", PERSISTENT)), -8),
            (part(op::CREATE_TTL, create("/m/t", b"", 5).long(1000)), -6),
        ] {
            let some = part(op::SET_DATA, set("/m", b"w", -1))
                .more(wrong)
                .more(part(op::DELETE, at_version("/nothing", -1)));
            let mut body = client.ask(op::MULTI, some.more(done())).await.ok();
            for expected in [0, code, -2] {
                assert_eq!(
                    (body.get_i32(), body.get_u8(), body.get_i32(), body.get_i32()),
                    (-1, 0, expected, expected)
                );
            }
            assert_eq!(client.data("/m", false).await.0, b"v");
        }
        let mut nothing = client.ask(op::MULTI, done()).await.ok();
        assert_eq!((nothing.get_i32(), nothing.get_u8(), nothing.get_i32()), (-1, 1, -1));
    });
}

#[test]
fn what_a_server_has_from_the_beginning_can_be_looked_at() {
    with_one(async |mut client| {
        assert_eq!(client.children("/", false).await, ["zookeeper"]);
        assert_eq!(client.children("/zookeeper", false).await, ["config", "quota"]);
        let root = stat(&mut client.ask(op::EXISTS, look("/", false)).await.ok());
        let own = stat(&mut client.ask(op::EXISTS, look("/zookeeper", false)).await.ok());
        assert_eq!((root.cversion, own.cversion, own.czxid), (-1, -2, 0));
        for (path, children, below) in
            [("/", 1, 3), ("/zookeeper", 2, 2), ("/zookeeper/config", 0, 0), ("/zookeeper/quota", 0, 0)]
        {
            let seen = stat(&mut client.ask(op::EXISTS, look(path, false)).await.ok());
            assert_eq!((seen.version, seen.children), (0, children), "{path}");
            let mut data = client.ask(op::GET_DATA, look(path, true)).await.ok();
            assert_eq!(data.split_to(4)[..], [0; 4], "{path} is empty");
            assert_eq!(stat(&mut data).children, children, "{path}");
            let mut count = client.ask(op::COUNT_BELOW, Body::new().string(path)).await.ok();
            assert_eq!(count.get_i32(), below, "{path}");
            assert_eq!(client.ask(op::CREATE, create(path, b"", PERSISTENT)).await.error, -110, "{path}");
            assert_eq!(client.delete(path).await, -8, "{path}");
        }
        assert_eq!(client.ask(op::SET_DATA, set("/zookeeper/config", b"", -1)).await.error, -102);
        let checks = part(op::CHECK, at_version("/zookeeper", 0)).more(done());
        assert_eq!(client.ask(op::MULTI, checks).await.error, 0);
        // Whoever watched it before goes on doing so, and has missed nothing.
        let again = Body::new().long(0).strings(&["/zookeeper/config"]).strings(&[]).strings(&[]);
        assert_eq!(client.ask(op::SET_WATCHES, again).await.error, 0);
    });
}

#[test]
fn what_is_no_path_and_what_is_not_here_is_refused_in_the_servers_own_codes() {
    with_one(async |mut client| {
        for path in ["", "a", "/a/", "//", "/.", "/a\0"] {
            assert_eq!(client.ask(op::CREATE, create(path, b"", PERSISTENT)).await.error, -8, "{path:?}");
            assert_eq!(client.ask(op::SET_DATA, set(path, b"", -1)).await.error, -8, "{path:?}");
        }
        assert_eq!(client.ask(op::CREATE, create("/", b"", PERSISTENT)).await.error, -110);
        assert_eq!(client.delete("/").await, -8);
        assert_eq!(client.ask(op::EXISTS, look("/a\0", true)).await.error, -8);
        assert_eq!(client.ask(op::CREATE, create("/a", b"", 9)).await.error, -8);
        let nobody = Body::new().string("/a").buffer(b"").int(0).int(0);
        assert_eq!(client.ask(op::CREATE, nobody).await.error, -114);
        let closed =
            Body::new().string("/a").buffer(b"").int(1).int(31).string("digest").string("me:x").int(0);
        assert_eq!(client.ask(op::CREATE, closed).await.error, -114);
        assert_eq!(client.ask(op::CREATE_TTL, create("/a", b"", 5).long(1000)).await.error, -6);
        assert_eq!(client.ask(op::ADD_WATCH, at_version("/", 0)).await.error, -6);
        assert_eq!(client.ask(op::RECONFIG, Body::new()).await.error, -123);
        assert_eq!(client.ask(op::CREATE, Body::new().int(1_000)).await.error, -5, "damaged");
        assert_eq!(client.children("/", false).await, ["zookeeper"]);
        assert_eq!(client.ask(4_711, Body::new()).await.error, -6);
        assert!(client.ping().await.is_none(), "the connection ends behind what no server knows");
    });
}

#[test]
fn anybody_may_do_anything() {
    with_one(async |mut client| {
        let mut created = client.ask(op::CREATE_CONTAINER, create("/c", b"", 4)).await.ok();
        assert_eq!(text(&mut created), "/c");
        let mut acl = client.ask(op::GET_ACL, Body::new().string("/c")).await.ok();
        assert_eq!((acl.get_i32(), acl.get_i32()), (1, 31));
        assert_eq!((text(&mut acl), text(&mut acl)), ("world".to_owned(), "anyone".to_owned()));
        assert_eq!(stat(&mut acl), stat(&mut created));
        assert_eq!(client.ask(op::SET_ACL, Body::new().string("/c").open().int(-1)).await.error, 0);
        assert_eq!(client.ask(op::SET_ACL, Body::new().string("/c").open().int(7)).await.error, -103);
        assert_eq!(client.ask(op::SET_ACL, Body::new().string("/d").open().int(-1)).await.error, -101);
        let mut whoami = client.ask(op::WHO_AM_I, Body::new()).await.ok();
        assert_eq!(whoami.get_i32(), 1);
        assert_eq!((text(&mut whoami), text(&mut whoami)), ("ip".to_owned(), "127.0.0.1".to_owned()));
        assert_eq!(text(&mut client.ask(op::SYNC, Body::new().string("/c")).await.ok()), "/c");
        client.send_as(-4, op::AUTH, Body::new().int(0).string("digest").buffer(b"me:secret")).await;
        let known = client.answer().await.expect("it answers");
        assert_eq!((known.xid, known.error), (-4, 0));
        client.send_as(-4, op::AUTH, Body::new().int(0).string("nobody").buffer(b"")).await;
        assert_eq!(client.answer().await.expect("it answers").error, -115);
        assert!(client.answer().await.is_none(), "and the connection ends");
    });
}
