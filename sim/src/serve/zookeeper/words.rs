//! Words of four letters, which operators say in the place of a first request (`FourLetterCommands.java`).

use super::answer::zxid_number;
use super::desk::Servers;
use std::fmt::Write;

const VERSION: &str = "3.8.0-picklock";

/// What a server answers.
pub fn answer(servers: &Servers, server: u8, word: [u8; 4]) -> String {
    let state = servers.state();
    let machine = &state.nodes[usize::from(server)].machine;
    let word = String::from_utf8_lossy(&word).into_owned();
    let mode = match (servers.count(), machine.leads()) {
        (1, _) => "standalone",
        (_, true) => "leader",
        (_, false) => "follower",
    };
    let zxid = zxid_number(machine.last_applied());
    let znodes = machine.znodes().count();
    let (connections, commands) = (state.desk.connected, state.tally.commands);
    match word.as_str() {
        "ruok" => "imok".to_owned(),
        "srvr" | "stat" | "mntr" | "isro" if !machine.serves() => {
            "This ZooKeeper instance is not currently serving requests\n".to_owned()
        }
        "isro" => "rw".to_owned(),
        "mntr" => format!(
            "zk_version\t{VERSION}\nzk_server_state\t{mode}\nzk_znode_count\t{znodes}\nzk_packets_sent\t{commands}\n"
        ),
        "srvr" | "stat" => {
            let mut text = format!("Zookeeper version: {VERSION}\n");
            if word == "stat" {
                text += "Clients:\n\n";
            }
            // Of all servers together: they have not counted apart.
            let _infallible = write!(
                text,
                "Latency min/avg/max: 0/0.0/0\nReceived: {commands}\nSent: {commands}\nConnections: {connections}\n\
                 Outstanding: 0\nZxid: {zxid:#x}\nMode: {mode}\nNode count: {znodes}\n"
            );
            text
        }
        other => format!("{other} is not executed because it is not in the whitelist.\n"),
    }
}
