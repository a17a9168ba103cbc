//! kazoo, Python's client, as it is: its locks, its sessions, its watches.
//!
//! Needs `pip install kazoo` for the `python3` in the path, or for another one that `PICKLOCK_PYTHON` names.

use crate::command::Served;
use std::process::Command;

/// A program of Python's, told where the servers are; what it prints. `None`, and a word about it, where there is no kazoo.
fn says(served: &Served, program: &str) -> Option<String> {
    let python = std::env::var_os("PICKLOCK_PYTHON").unwrap_or("python3".into());
    let has_kazoo = Command::new(&python).args(["-c", "import kazoo"]).output();
    if !has_kazoo.is_ok_and(|output| output.status.success()) {
        println!("skipped: no kazoo here; to install it: pip install kazoo");
        return None;
    }
    let output = Command::new(&python)
        .args(["-c", program])
        .env("HOSTS", served.endpoints.join(","))
        .output()
        .expect("python starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}

const BEGIN: &str = "
import os, time, threading
from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import *

def client(root='', **more):
    zk = KazooClient(hosts=os.environ['HOSTS'] + root, timeout=10.0, **more)
    zk.start(timeout=20)
    return zk
";

fn program(rest: &str) -> String {
    format!("{BEGIN}\n{rest}")
}

#[test]
fn a_lock_is_passed_from_one_client_to_the_other() {
    let served = Served::start(&["--servers", "3"]);
    let said = says(
        &served,
        &program(
            "
one, other = client(), client()
mine, theirs = one.Lock('/locks/orders', 'one'), other.Lock('/locks/orders', 'other')
print(mine.acquire(timeout=10))
print(theirs.acquire(blocking=False))
waiter = threading.Thread(target=lambda: print('other', theirs.acquire(timeout=20)))
waiter.start()
while len(mine.contenders()) < 2: time.sleep(0.01)
print(mine.contenders())
mine.release()
waiter.join()
theirs.release()
print(one.get_children('/locks/orders'))
one.stop(); other.stop()
",
        ),
    );
    let Some(said) = said else { return };
    assert_eq!(said, "True\nFalse\n['one', 'other']\nother True\n[]");
    let (code, said) = served.stop();
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn a_client_that_is_stopped_loses_its_session_and_the_other_gets_the_lock() {
    let served = Served::start(&["--servers", "3", "--session", "2000"]);
    let said = says(
        &served,
        &program(
            "
import multiprocessing, signal

def holds(held):
    zk = client()
    zk.Lock('/lock', 'paused').acquire()
    held.set()
    time.sleep(60)

if __name__ == '__main__':
    held = multiprocessing.Event()
    holder = multiprocessing.Process(target=holds, args=(held,), daemon=True)
    holder.start()
    held.wait(20)
    other = client()
    lock = other.Lock('/lock', 'other')
    print(lock.acquire(blocking=False))
    os.kill(holder.pid, signal.SIGSTOP)
    began = time.monotonic()
    print(lock.acquire(timeout=30))
    waited = time.monotonic() - began
    print('%.1f' % waited if not 1.0 < waited < 10.0 else 'after its session')
    print(lock.contenders())
    os.kill(holder.pid, signal.SIGKILL)
    other.stop()
",
        ),
    );
    let Some(said) = said else { return };
    assert_eq!(said, "False\nTrue\nafter its session\n['other']");
}

#[test]
fn what_kazoo_asks_for_besides_is_answered() {
    let served = Served::start(&[]);
    let said = says(
        &served,
        &program(
            "
zk = client()
print(zk.create('/app/deep/er', b'data', makepath=True))
below = client('/app', auth_data=[('digest', 'me:secret')])
print(below.get('/deep/er')[0])
seen = []
zk.get_children('/app/deep', watch=lambda event: seen.append((event.type, event.path)))
print(zk.create('/app/deep/n-', sequence=True, ephemeral=True))
while not seen: time.sleep(0.01)
print(seen)
t = zk.transaction()
t.check('/app/deep/er', 0); t.set_data('/app/deep/er', b'new'); t.create('/app/t'); t.delete('/app/t')
print([type(result).__name__ for result in t.commit()])
t = zk.transaction()
t.create('/app/u'); t.check('/app/deep/er', 0); t.delete('/app')
print([type(result).__name__ for result in t.commit()])
zk.create('/null', None)
assert zk.get('/null')[0] is None
zk.set('/null', b'')
assert zk.get('/null')[0] == b''
for wrong in [lambda: zk.create('/app'), lambda: zk.delete('/app'), lambda: zk.set('/app', b'', 7), lambda: zk.get('/no')]:
    try: wrong()
    except KazooException as error: print(type(error).__name__)
print(zk.get_acls('/app')[0][0].id.scheme, zk.sync('/app'), zk.exists('/no'))
stat = zk.exists('/app/deep/er')
print(stat.version, stat.dataLength, abs(stat.last_modified - time.time()) < 60)
counter = zk.Counter('/counter'); counter += 2; print(counter.value)
queue = zk.LockingQueue('/queue'); queue.put(b'first'); print(queue.get(10)); queue.consume()
semaphore = zk.Semaphore('/semaphore', max_leases=2)
print(semaphore.acquire(timeout=10), len(semaphore.lease_holders())); semaphore.release()
barrier = zk.DoubleBarrier('/barrier', 1); barrier.enter(); barrier.leave()
elected = []
zk.Election('/election', 'me').run(lambda: elected.append('leads')); print(elected)
with zk.ReadLock('/rw'), zk.ReadLock('/rw'): print('both read')
party = zk.Party('/party', 'me'); party.join(); print(list(party)); party.leave()
print(zk.command(b'ruok'), 'standalone' in zk.command(b'srvr'))
zk.delete('/app', recursive=True); zk.stop(); below.stop()
",
        ),
    );
    let Some(said) = said else { return };
    let expected = "/app/deep/er
b'data'
/app/deep/n-0000000001
[('CHILD', '/app/deep')]
['bool', 'ZnodeStat', 'str', 'bool']
['RolledBackError', 'BadVersionError', 'RuntimeInconsistency']
NodeExistsError
NotEmptyError
BadVersionError
NoNodeError
world /app None
1 3 True
2
b'first'
True 1
['leads']
both read
['me']
imok True";
    assert_eq!(said, expected);
}

#[test]
fn a_watch_of_children_is_heard_though_servers_crash() {
    let served = Served::start(&[
        "--servers",
        "3",
        "--session",
        "4000",
        "--faults",
        "crash",
        "--seed",
        "3",
        "--round",
        "20",
    ]);
    let said = says(
        &served,
        &program(
            "
zk, other = client(), client()
zk.ensure_path('/w')
names = set()
@zk.ChildrenWatch('/w')
def seen(children): names.update(children)
for n in range(40):
    other.retry(other.ensure_path, '/w/%d' % n)
    time.sleep(0.2)
for _ in range(600):
    if len(names) == 40: break
    time.sleep(0.05)
print(len(names))
zk.stop(); other.stop()
",
        ),
    );
    let Some(said) = said else { return };
    assert_eq!(said, "40");
    let (_, said) = served.stop();
    assert!(said.contains("crashes"), "{said}");
}
