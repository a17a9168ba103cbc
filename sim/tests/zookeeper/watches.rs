//! What clients are told of znodes that they watch.

use crate::client::*;
use picklock_sim::serve::zookeeper::settings;

const CREATED: i32 = 1;
const DELETED: i32 = 2;
const CHANGED: i32 = 3;
const CHILDREN: i32 = 4;

fn told(kind: i32, path: &str) -> Event {
    (kind, path.to_owned())
}

#[test]
fn a_watch_fires_once_before_the_change_is_seen() {
    with_servers(1, settings(), async |ensemble| {
        let (mut watcher, mut writer) = (ensemble.client(0).await, ensemble.client(0).await);
        assert_eq!(watcher.exists("/w", true).await, None);
        writer.create("/w", b"", PERSISTENT).await;
        assert_eq!(watcher.event().await, told(CREATED, "/w"));
        watcher.data("/w", true).await;
        for data in [b"1", b"2"] {
            writer.ask(op::SET_DATA, set("/w", data, -1)).await.ok();
        }
        assert_eq!(watcher.data("/w", false).await.0, b"2");
        assert_eq!(watcher.events, [told(CHANGED, "/w")], "once, and before the answer");
        watcher.events.clear();
        watcher.children("/w", true).await;
        writer.create("/w/x", b"", EPHEMERAL).await;
        assert_eq!(watcher.event().await, told(CHILDREN, "/w"));
        // Who watches a znode twice hears once that it is gone.
        watcher.children("/w/x", true).await;
        watcher.data("/w/x", true).await;
        assert!(watcher.exists("/w/x", true).await.is_some());
        writer.delete("/w/x").await;
        assert_eq!(watcher.event().await, told(DELETED, "/w/x"));
        watcher.ping().await.expect("it goes on");
        assert_eq!(watcher.events, []);
        // Who changes it himself is told, too.
        watcher.exists("/w", true).await;
        watcher.delete("/w").await;
        assert_eq!(watcher.events, [told(DELETED, "/w")]);
    });
}

#[test]
fn what_is_not_there_is_not_watched_but_by_exists() {
    with_servers(1, settings(), async |ensemble| {
        let (mut watcher, mut writer) = (ensemble.client(0).await, ensemble.client(0).await);
        for kind in [op::GET_DATA, op::GET_CHILDREN] {
            assert_eq!(watcher.ask(kind, look("/n", true)).await.error, -101);
        }
        writer.create("/n", b"", PERSISTENT).await;
        watcher.ping().await.expect("it goes on");
        assert_eq!(watcher.events, []);
    });
}

#[test]
fn watches_are_set_again_on_another_server_and_fire_for_what_they_missed() {
    with_servers(3, settings(), async |ensemble| {
        let mut writer = ensemble.client(0).await;
        for path in ["/still", "/changed", "/gone", "/parent"] {
            writer.create(path, b"", PERSISTENT).await;
        }
        let mut first = ensemble.client(1).await;
        first.ask(op::SYNC, Body::new().string("/")).await.ok();
        first.exists("/parent", false).await.expect("it is there");
        let mut second = first.again(ensemble.addresses[2]).await.expect("it goes on");
        assert_eq!(second.session, first.session);
        let last = second.zxid;
        writer.ask(op::SET_DATA, set("/changed", b"x", -1)).await.ok();
        writer.delete("/gone").await;
        writer.create("/parent/child", b"", PERSISTENT).await;
        writer.create("/new", b"", PERSISTENT).await;
        second.ask(op::SYNC, Body::new().string("/")).await.ok();
        let again = Body::new()
            .long(last)
            .strings(&["/still", "/changed", "/gone"])
            .strings(&["/new", "/absent"])
            .strings(&["/parent", "/still"]);
        second.send_as(-8, op::SET_WATCHES, again).await;
        let answered = second.answer().await.expect("it answers");
        assert_eq!((answered.xid, answered.error), (-8, 0));
        let missed = [
            told(CHANGED, "/changed"),
            told(DELETED, "/gone"),
            told(CREATED, "/new"),
            told(CHILDREN, "/parent"),
        ];
        assert_eq!(second.events, missed);
        second.events.clear();
        writer.create("/still/child", b"", PERSISTENT).await;
        assert_eq!(second.event().await, told(CHILDREN, "/still"));
        writer.ask(op::SET_DATA, set("/still", b"x", -1)).await.ok();
        assert_eq!(second.event().await, told(CHANGED, "/still"));
        writer.create("/absent", b"", PERSISTENT).await;
        assert_eq!(second.event().await, told(CREATED, "/absent"));
    });
}

#[test]
fn a_watch_that_was_removed_does_not_fire() {
    with_servers(1, settings(), async |ensemble| {
        let (mut watcher, mut writer) = (ensemble.client(0).await, ensemble.client(0).await);
        watcher.exists("/w", true).await;
        watcher.children("/", true).await;
        // Children 1, data 2, any 3.
        assert_eq!(watcher.ask(op::CHECK_WATCHES, at_version("/w", 2)).await.error, 0);
        assert_eq!(watcher.ask(op::CHECK_WATCHES, at_version("/w", 1)).await.error, -121);
        assert_eq!(watcher.ask(op::REMOVE_WATCHES, at_version("/w", 3)).await.error, 0);
        assert_eq!(watcher.ask(op::REMOVE_WATCHES, at_version("/w", 3)).await.error, -121);
        writer.create("/w", b"", PERSISTENT).await;
        assert_eq!(watcher.event().await, told(CHILDREN, "/"));
        watcher.ping().await.expect("it goes on");
        assert_eq!(watcher.events, []);
    });
}
