//! What the servers have seen of clients, in a few words: for whoever wonders why there is no verdict.

use super::Watch;
use super::record::What;
use picklock_model::machine::Node;
use std::collections::BTreeMap;

/// What one server has seen.
#[derive(Clone, PartialEq, Eq, Default)]
struct Seen {
    is_connected: bool,
    /// How many times each command was run.
    commands: BTreeMap<String, u64>,
}

/// How many commands are named of a server.
const COMMANDS_MAX: usize = 8;

impl Watch {
    /// What each server was asked for, a line each, and what that means for the verdict if that can be told.
    pub fn seen(&self, servers: u8) -> String {
        let mut lines: Vec<(Vec<String>, String)> = Vec::new();
        for (server, seen) in (0..).zip(self.seen_by(servers)) {
            let (name, words) = (Node::Server(server).to_string(), seen.words());
            match lines.last_mut().filter(|(_, last)| *last == words) {
                Some((names, _)) => names.push(name),
                None => lines.push((vec![name], words)),
            }
        }
        let named = |names: &[String]| match names {
            [first, _, .., last] => format!("{first} to {last}"),
            names => names.join(", "),
        };
        let last = self.record.kept_of_more().map(|kept| format!("  of the last {kept} events:\n"));
        let lines = lines.iter().map(|(names, words)| format!("  {} {words}\n", named(names)));
        let lines = last.into_iter().chain(lines);
        let advice = self.few_used(servers).or_else(|| self.never_taken());
        lines.chain(advice.map(|advice| format!("{advice}\n"))).collect()
    }

    /// That clients use only some of servers that know nothing of each other, and what to do then. `None`: they use all, or none.
    pub fn few_used(&self, servers: u8) -> Option<String> {
        let enough = self.claims.enough();
        // Of servers that know of each other one is enough to ask.
        if enough < 2 {
            return None;
        }
        let seen = self.seen_by(servers);
        let used: Vec<String> = (0..servers)
            .zip(&seen)
            .filter(|(_, seen)| !seen.commands.is_empty())
            .map(|(server, _)| Node::Server(server).to_string())
            .collect();
        if used.is_empty() || used.len() == usize::from(servers) {
            return None;
        }
        let (count, names) = (used.len(), used.join(", "));
        let what = match count < enough {
            true => format!(
                "a lock on {servers} servers is somebody's when {enough} of them have given it to the same client"
            ),
            false => "what strikes the others strikes nobody".to_owned(),
        };
        let lives_on = if count == 1 { "lives on one server" } else { "lives on so many servers" };
        Some(format!(
            "clients asked {names} only, and {what}: a lock that {lives_on} is tried with --servers {count}"
        ))
    }

    /// That nobody has taken a lock anywhere, and what would be one; where servers are not looked at for that, clients say it.
    fn never_taken(&self) -> Option<String> {
        match self.claims.enough() {
            0 => None,
            _ if self.claims.taken() > 0 => None,
            _ => Some(
                "no command took a lock: servers see one in SET NX, in SETNX, and in a script or a transaction that \
                 leaves a string or a hash at a key where none was; of any other lock clients tell a witness"
                    .to_owned(),
            ),
        }
    }

    fn seen_by(&self, servers: u8) -> Vec<Seen> {
        let mut all = vec![Seen::default(); servers.into()];
        for happened in self.record.past() {
            let Some(seen) = happened.server.and_then(|server| all.get_mut(usize::from(server))) else {
                continue;
            };
            match happened.what {
                What::Connected => seen.is_connected = true,
                What::Ran => {
                    let command = happened.text.split_whitespace().next().unwrap_or_default();
                    match seen.commands.get_mut(command) {
                        Some(times) => *times += 1,
                        None => drop(seen.commands.insert(command.to_owned(), 1)),
                    }
                }
                _ => {}
            }
        }
        all
    }
}

impl Seen {
    fn words(&self) -> String {
        if self.commands.is_empty() {
            let words =
                if self.is_connected { "was connected to, and asked for nothing" } else { "saw nobody" };
            return words.to_owned();
        }
        let mut commands: Vec<(&String, &u64)> = self.commands.iter().collect();
        commands.sort_by_key(|(name, times)| (std::cmp::Reverse(**times), *name));
        let more = commands.len().saturating_sub(COMMANDS_MAX);
        let told =
            commands.iter().take(COMMANDS_MAX).map(|(name, count)| format!("{name} {}", times(**count)));
        let more = (more > 0).then(|| format!("{more} more"));
        format!("was asked for {}", told.chain(more).collect::<Vec<_>>().join(", "))
    }
}

/// So many times, in words.
pub fn times(count: u64) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        count => format!("{count} times"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::claims::Claims;
    use super::super::record::Happened;
    use super::*;
    use picklock_model::time::Micros;

    /// So many servers that know nothing of each other, of which these were asked for something.
    fn asked(servers: usize, of: &[u8]) -> Watch {
        let mut watch = Watch { claims: Claims::new(servers / 2 + 1), ..Watch::default() };
        watch.record.begin(0, None);
        for server in of {
            for text in ["SET lock a NX PX 1000", "SET lock b NX PX 1000", "GET lock"] {
                let ran = Happened::new(Micros::ZERO, What::Ran, text);
                watch.record.add(Happened { server: Some(*server), ..ran });
            }
        }
        watch
    }

    #[test]
    fn who_uses_one_of_five_servers_hears_of_it_and_of_what_to_do() {
        let seen = asked(5, &[0]).seen(5);
        let lines: Vec<&str> = seen.lines().collect();
        assert_eq!(lines[..2], ["  s1 was asked for SET twice, GET once", "  s2 to s5 saw nobody"]);
        assert!(
            lines[2].starts_with("clients asked s1 only, and a lock on 5 servers is somebody's when 3"),
            "{seen}"
        );
        assert!(lines[2].ends_with("--servers 1"), "{seen}");
    }

    #[test]
    fn who_uses_most_of_them_is_told_that_the_others_are_for_nothing() {
        let few = asked(5, &[0, 1, 2]).few_used(5).expect("two are not used");
        assert!(
            few.contains("what strikes the others strikes nobody") && few.ends_with("--servers 3"),
            "{few}"
        );
        for all in [asked(3, &[0, 1, 2]).few_used(3), asked(3, &[]).few_used(3), asked(1, &[0]).few_used(1)] {
            assert_eq!(all, None);
        }
    }

    #[test]
    fn where_nobody_took_anything_it_is_said_what_would_be_a_lock() {
        assert!(asked(1, &[0]).seen(1).contains("no command took a lock: "));
        assert_eq!(Watch::default().seen(3), "  s1 to s3 saw nobody\n", "an etcd is not looked at for that");
    }
}
