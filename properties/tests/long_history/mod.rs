//! Long histories that are linearizable because they were made so: each call is done at one moment, and comes back later.

use picklock_properties::{ClientId, ObjectAnswer, ObjectCall, ObjectId, Operation};

const CLIENTS: usize = 16;

/// Numbers that look drawn and are the same every time: Knuth's MMIX generator, its upper half.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % bound
    }
}

struct UnderWay {
    call: ObjectCall,
    invoked_at: u64,
    answer: Option<ObjectAnswer>,
}

/// So many operations of 16 clients on two variables and a queue, in the order of their ends, and those that are under way then. Some
/// are never done, and some done that never come back.
pub fn long_history(operations: usize) -> Vec<Operation<ObjectCall, ObjectAnswer>> {
    let mut draw = Draw(7);
    let mut variables = [(None, 0u32); 2];
    let mut items = Vec::new();
    let mut clients: [Option<UnderWay>; CLIENTS] = std::array::from_fn(|_| None);
    let mut history = Vec::new();
    for now in 0.. {
        if history.len() == operations {
            break;
        }
        let number = draw.below(CLIENTS as u64) as usize;
        let client = ClientId(number as u8);
        match &mut clients[number] {
            None => {
                let call = drawn_call(&mut draw, &variables, items.len() as u32);
                clients[number] = Some(UnderWay { call, invoked_at: now, answer: None });
            }
            // One in a thousand is given up, half of those when they are done.
            Some(UnderWay { call, invoked_at, .. }) if draw.below(1000) == 0 => {
                history.push(Operation { client, call: *call, invoked_at: *invoked_at, returned: None });
                clients[number] = None;
            }
            Some(UnderWay { call, answer: answer @ None, .. }) => {
                *answer = Some(done(&mut variables, &mut items, *call));
            }
            Some(UnderWay { call, invoked_at, answer: Some(answer) }) => {
                let returned = Some((now, *answer));
                history.push(Operation { client, call: *call, invoked_at: *invoked_at, returned });
                clients[number] = None;
            }
        }
    }
    let under_way = |(number, doing): (usize, Option<UnderWay>)| {
        let UnderWay { call, invoked_at, .. } = doing?;
        Some(Operation { client: ClientId(number as u8), call, invoked_at, returned: None })
    };
    history.extend(clients.into_iter().enumerate().filter_map(under_way));
    history
}

fn drawn_call(draw: &mut Draw, variables: &[(Option<i32>, u32); 2], end: u32) -> ObjectCall {
    let place = draw.below(2) as usize;
    let (variable, queue) = (ObjectId(place as u8), ObjectId(0));
    let (value, revision) = variables[place];
    let new = draw.below(5) as i32;
    match draw.below(12) {
        0..=3 => ObjectCall::Read { variable },
        4 => ObjectCall::Write { variable, value: new },
        5 | 6 => ObjectCall::CompareAndSet { variable, expected: value, new },
        7 => ObjectCall::CompareAndSetVersion {
            variable,
            version: if value.is_some() { revision } else { 0 },
            new,
        },
        8 => ObjectCall::Delete { variable },
        9 => ObjectCall::Push { queue, item: draw.below(1000) as i32 },
        10 => ObjectCall::ReadAt { queue, position: draw.below(u64::from(end) + 1) as u32 },
        _ => ObjectCall::ReadIndex { queue },
    }
}

fn done(variables: &mut [(Option<i32>, u32); 2], items: &mut Vec<i32>, call: ObjectCall) -> ObjectAnswer {
    let (value, revision) = match call.variable() {
        Some(variable) => &mut variables[usize::from(variable.0)],
        None => return done_on_queue(items, call),
    };
    let version = if value.is_some() { *revision } else { 0 };
    let new = match call {
        ObjectCall::Read { .. } => return ObjectAnswer::Value { value: *value, version: Some(version) },
        ObjectCall::Write { value, .. } => Some(value),
        ObjectCall::CompareAndSet { expected, new, .. } if expected == *value => Some(new),
        ObjectCall::CompareAndSetVersion { version: expected, new, .. } if expected == version => Some(new),
        ObjectCall::Delete { .. } if value.is_none() => return ObjectAnswer::Done,
        ObjectCall::Delete { .. } => None,
        _ => return ObjectAnswer::Refused,
    };
    *value = new;
    *revision += 1;
    ObjectAnswer::Done
}

fn done_on_queue(items: &mut Vec<i32>, call: ObjectCall) -> ObjectAnswer {
    match call {
        ObjectCall::Push { item, .. } => {
            items.push(item);
            ObjectAnswer::Pushed { position: items.len() as u32 - 1 }
        }
        ObjectCall::ReadAt { position, .. } => {
            ObjectAnswer::Item { item: items.get(position as usize).copied() }
        }
        _ => ObjectAnswer::Index { index: items.len() as u32 },
    }
}
