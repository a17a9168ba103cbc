//! Watches.

use crate::client::{Watcher, bytes, text, with_one};
use crate::pb;

fn all() -> pb::WatchCreateRequest {
    pb::WatchCreateRequest { key: bytes("\0"), range_end: bytes("\0"), ..Default::default() }
}

#[test]
fn a_watch_sees_what_happens_from_now_on_or_from_then_on() {
    with_one(async |client| {
        client.set("a", "1").await;
        client.set("b", "1").await;
        let mut watcher = Watcher::new(&client);
        let begun = watcher.watch(pb::WatchCreateRequest { key: bytes("a"), ..Default::default() }).await;
        assert!(begun.created && begun.watch_id == 0, "{begun:?}");
        let begun = watcher.watch(pb::WatchCreateRequest { start_revision: 2, ..all() }).await;
        assert!(begun.created && begun.watch_id == 1, "{begun:?}");
        assert_eq!(watcher.events().await, [(true, "a".to_owned()), (true, "b".to_owned())]);
        client.set("a", "2").await;
        let told = [watcher.next().await, watcher.next().await];
        let mut ids: Vec<i64> = told.iter().map(|told| told.watch_id).collect();
        ids.sort_unstable();
        assert_eq!(ids, [0, 1]);
        assert!(
            told.iter().all(|told| told.events.len() == 1
                && told.header.as_ref().is_some_and(|header| header.revision == 4))
        );
    });
}

#[test]
fn events_are_left_out_and_told_with_what_was_before_as_the_watch_wants_it() {
    with_one(async |client| {
        let mut watcher = Watcher::new(&client);
        let filters = vec![pb::FilterType::NoPut.into()];
        watcher.watch(pb::WatchCreateRequest { filters, prev_kv: true, watch_id: 12, ..all() }).await;
        client.set("a", "1").await;
        client.set("a", "2").await;
        client
            .delete(pb::DeleteRangeRequest { key: bytes("a"), ..Default::default() })
            .await
            .expect("deleted");
        let told = watcher.next().await;
        let event = &told.events[0];
        assert_eq!((told.watch_id, event.r#type(), told.events.len()), (12, pb::EventType::Delete, 1));
        assert_eq!(event.kv.as_ref().map(|kv| (kv.mod_revision, kv.version)), Some((4, 0)));
        assert_eq!(event.prev_kv.as_ref().map(|kv| (text(&kv.value), kv.version)), Some(("2".into(), 2)));
    });
}

#[test]
fn a_watch_is_cancelled_by_its_client_and_by_a_compaction() {
    with_one(async |client| {
        for value in ["1", "2", "3"] {
            client.set("a", value).await;
        }
        client.compact(3).await.expect("compacted");
        let mut watcher = Watcher::new(&client);
        assert!(watcher.watch(pb::WatchCreateRequest { start_revision: 2, ..all() }).await.created);
        let cancelled = watcher.next().await;
        assert!(cancelled.canceled && cancelled.compact_revision == 3, "{cancelled:?}");
        let id = watcher.watch(all()).await.watch_id;
        watcher.ask(pb::Wanted::Cancel(pb::WatchCancelRequest { watch_id: id })).await;
        let cancelled = watcher.next().await;
        assert!(
            cancelled.canceled && cancelled.watch_id == id && cancelled.compact_revision == 0,
            "{cancelled:?}"
        );
        client.set("a", "4").await;
        watcher.ask(pb::Wanted::Progress(pb::WatchProgressRequest {})).await;
        let progress = watcher.next().await;
        assert_eq!(
            (progress.watch_id, progress.header.expect("a header").revision, progress.events.len()),
            (-1, 5, 0)
        );
        let refused = watcher
            .watch(pb::WatchCreateRequest { key: bytes("b"), range_end: bytes("a"), ..Default::default() })
            .await;
        assert!(refused.canceled && refused.cancel_reason == "mvcc: watcher range is empty", "{refused:?}");
        assert!(watcher.watch(pb::WatchCreateRequest { watch_id: 9, ..all() }).await.created);
        let twice = watcher.watch(pb::WatchCreateRequest { watch_id: 9, ..all() }).await;
        assert!(
            twice.canceled && twice.watch_id == -1 && twice.cancel_reason.contains("duplicate watch ID"),
            "{twice:?}"
        );
    });
}
