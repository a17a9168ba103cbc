//! What a client asks on a connection, and what it is answered.

use super::change::{self, Change};
use super::connection::Told;
use super::coordinator::Coordinator;
use super::cql::{self, Statement, parse};
use super::desk::Prepared;
use super::frame::{Bound, Frame, Reader, Writer, opcode};
use super::kinds::Kind;
use super::refusal::{Level, Refusal, WriteType};
use super::schema::{SchemaChange, Table, is_system};
use super::select::{self, Shown};
use super::system::{self, View};
use super::values::{Marker, Moment, Number, Values};
use bytes::Bytes;
use sha1_smol::Sha1;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::mpsc::UnboundedSender;

/// A connection, as far as its requests know it.
#[derive(Debug)]
pub struct Session {
    pub coordinator: Coordinator,
    /// Which client of a trial it is.
    pub client: Option<u8>,
    /// The keyspace in use.
    keyspace: Mutex<Option<String>>,
    begun: Mutex<Begun>,
    /// Where events go.
    events: UnboundedSender<Told>,
}

/// How far a connection has come.
#[derive(Default, Debug)]
struct Begun {
    /// The version of its first message: all others have the same.
    version: Option<u8>,
    /// `STARTUP` was said.
    is_ready: bool,
}

/// What is answered.
#[derive(Clone, Debug)]
pub struct Reply {
    pub opcode: u8,
    pub body: Writer,
    pub warnings: Vec<String>,
    /// In a few words.
    pub text: String,
}

/// What a request brings beside its statement.
#[derive(Clone, Debug)]
struct Options {
    level: Level,
    serial: Level,
    values: Vec<(Option<String>, Bound)>,
    timestamp: Option<i64>,
    /// How many rows are wanted at a time.
    page: Option<i32>,
}

/// A statement and what its markers are called.
type Parsed = (Arc<Statement>, Arc<[Option<String>]>);

impl Reply {
    fn result(kind: i32, text: &str) -> Reply {
        let mut body = Writer::default();
        body.int(kind);
        Reply { opcode: opcode::RESULT, body, warnings: Vec::new(), text: text.to_owned() }
    }

    fn void() -> Reply {
        const VOID: i32 = 1;
        Reply::result(VOID, "done")
    }

    fn rows(shown: &Shown) -> Reply {
        Reply { opcode: opcode::RESULT, body: shown.body(), warnings: Vec::new(), text: shown.text() }
    }

    pub fn refused(refusal: &Refusal) -> Reply {
        Reply { opcode: opcode::ERROR, body: refusal.body(), warnings: Vec::new(), text: refusal.text() }
    }

    fn plain(opcode: u8) -> Reply {
        Reply { opcode, body: Writer::default(), warnings: Vec::new(), text: String::new() }
    }
}

impl Session {
    pub fn new(coordinator: Coordinator, client: Option<u8>, events: UnboundedSender<Told>) -> Session {
        Session { coordinator, client, keyspace: Mutex::new(None), begun: Mutex::default(), events }
    }

    fn used(&self) -> Option<String> {
        self.keyspace.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The text of what a frame asks for, if it is about rows of clients: for the record.
    pub fn told(&self, frame: &Frame) -> Option<String> {
        let mut body = Reader(frame.body.clone());
        let text = match frame.opcode {
            opcode::QUERY => body.long_string().ok()?,
            opcode::EXECUTE => {
                let id = body.short_bytes().ok()?;
                let state = self.coordinator.servers.state();
                state.desk.prepared.get(&id)?.text.to_string()
            }
            opcode::BATCH => "BATCH".to_owned(),
            _ => return None,
        };
        let is_about_system = text.to_ascii_lowercase().contains("from system");
        (!is_about_system).then_some(text)
    }

    /// Answers a request.
    pub async fn answer(&self, frame: &Frame) -> Reply {
        match self.try_answer(frame).await {
            Ok(reply) => reply,
            Err(refusal) => {
                if let Refusal::Invalid(why) = &refusal
                    && why.starts_with("not served: ")
                {
                    self.missing(why);
                }
                Reply::refused(&refusal)
            }
        }
    }

    /// What is asked for in vain is named once.
    fn missing(&self, what: &str) {
        let Coordinator { servers, number } = &self.coordinator;
        if servers.state().desk.is_first(what) {
            let what = what.strip_prefix("not served: ").unwrap_or(what);
            servers.notice(*number, &format!("is asked in vain for {what}"));
        }
    }

    /// Whether a message may come now (`ServerConnection.validateNewMessage`).
    fn check_order(&self, frame: &Frame) -> Result<(), Refusal> {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        let version = *begun.version.get_or_insert(frame.version);
        if version != frame.version {
            let now = frame.version;
            return Err(Refusal::Protocol(format!(
                "Invalid message version. Got {now}/v{now} but previous messages on this connection had version {version}/v{version}"
            )));
        }
        match (begun.is_ready, frame.opcode) {
            (true, opcode::STARTUP) => Err(Refusal::Protocol(
                "Unexpected message STARTUP, the connection is already initialized".to_owned(),
            )),
            (true, _) | (false, opcode::STARTUP | opcode::OPTIONS) => Ok(()),
            (false, other) => Err(Refusal::Protocol(format!(
                "Unexpected message {}, expecting STARTUP or OPTIONS",
                opcode::name(other)
            ))),
        }
    }

    async fn try_answer(&self, frame: &Frame) -> Result<Reply, Refusal> {
        self.check_order(frame)?;
        let mut body = Reader(frame.body.clone());
        match frame.opcode {
            opcode::STARTUP => {
                let options = body.string_map()?;
                match options.iter().find(|(key, _)| key == "COMPRESSION") {
                    Some((_, how)) => Err(Refusal::Protocol(format!("not served: compression by {how}"))),
                    None => {
                        self.begun.lock().unwrap_or_else(PoisonError::into_inner).is_ready = true;
                        Ok(Reply::plain(opcode::READY))
                    }
                }
            }
            opcode::OPTIONS => {
                let mut reply = Reply::plain(opcode::SUPPORTED);
                let list = |text: &str| vec![text.to_owned()];
                reply.body.short(3).string("CQL_VERSION").string_list(&list(system::CQL_VERSION));
                reply.body.string("COMPRESSION").string_list(&[]);
                reply.body.string("PROTOCOL_VERSIONS").string_list(&["3/v3".to_owned(), "4/v4".to_owned()]);
                Ok(reply)
            }
            opcode::REGISTER => {
                let kinds = body.string_list()?;
                if kinds.iter().any(|kind| kind == "SCHEMA_CHANGE") {
                    let Coordinator { servers, number } = &self.coordinator;
                    servers.state().desk.listen(*number, frame.version, self.events.clone());
                }
                Ok(Reply::plain(opcode::READY))
            }
            opcode::QUERY => {
                let text = body.long_string()?;
                let options = options(&mut body)?;
                let (statement, markers) = parse(&text)?;
                self.run((statement.into(), markers.into()), options, self.used()).await
            }
            opcode::PREPARE => {
                let text = body.long_string()?;
                self.prepare(&text)
            }
            opcode::EXECUTE => {
                let id = body.short_bytes()?;
                let options = options(&mut body)?;
                let prepared = self.prepared(&id)?;
                self.run((prepared.statement, prepared.markers), options, prepared.keyspace).await
            }
            opcode::BATCH => self.batch(&mut body).await,
            other => Err(Refusal::Protocol(format!("not served: the opcode {other}"))),
        }
    }

    fn prepared(&self, id: &Bytes) -> Result<Prepared, Refusal> {
        let found = self.coordinator.servers.state().desk.prepared.get(id).cloned();
        found.ok_or_else(|| Refusal::Unprepared(id.to_vec()))
    }

    fn prepare(&self, text: &str) -> Result<Reply, Refusal> {
        const PREPARED: i32 = 4;
        const ONE_TABLE: i32 = 1;
        const NO_METADATA: i32 = 4;
        let (statement, names) = parse(text)?;
        let used = self.used();
        let markers = self.markers(&statement, &names, used.as_deref())?;
        let digest = Sha1::from(format!("{} {text}", used.as_deref().unwrap_or(""))).digest().bytes();
        let id = Bytes::copy_from_slice(&digest[..16]);
        let mut reply = Reply::result(PREPARED, "prepared");
        let body = reply.body.short_bytes(&id);
        let table = self.table_of(&statement, used.as_deref())?;
        let (keyspace, name) = table.as_ref().map_or(("", ""), |table| (&table.keyspace, &table.name));
        let key: Vec<u16> = table.as_ref().map_or_else(Vec::new, |table| {
            let place = |column: &super::schema::Column| {
                let place = markers.iter().position(|marker| marker.name == column.name)?;
                u16::try_from(place).ok()
            };
            table.partition_key().iter().map(place).collect::<Option<Vec<u16>>>().unwrap_or_default()
        });
        body.int(ONE_TABLE).count(markers.len()).count(key.len());
        key.iter().for_each(|place| {
            body.short(*place);
        });
        body.string(keyspace).string(name);
        for Marker { name, kind } in &markers {
            kind.write(body.string(name));
        }
        match (&statement, &table) {
            (Statement::Select(select), Some(table)) => {
                let columns = select::columns(select, table)?;
                body.append(&Shown::metadata(keyspace, name, &columns));
            }
            (_, _) => {
                body.int(NO_METADATA).count(0);
            }
        }
        let prepared = Prepared {
            text: text.into(),
            statement: statement.into(),
            markers: names.into(),
            keyspace: used,
        };
        self.coordinator.servers.state().desk.prepared.insert(id, prepared);
        Ok(reply)
    }

    fn view<T>(&self, look: impl FnOnce(&View) -> T) -> T {
        let Coordinator { servers, number } = &self.coordinator;
        let count = servers.count();
        let state = servers.state();
        let addresses = state.desk.addresses(self.client, count);
        look(&View { schema: &state.desk.schema, addresses, server: *number })
    }

    fn table(&self, name: &cql::TableName, used: Option<&str>) -> Result<Arc<Table>, Refusal> {
        if let Some(keyspace) = name.keyspace.as_deref().or(used).filter(|keyspace| is_system(keyspace)) {
            let found = self.view(|view| system::table(view, keyspace, &name.table));
            let missing = || Refusal::invalid(format!("table {} does not exist", name.table));
            return found.map(|(table, _)| Arc::new(table)).ok_or_else(missing);
        }
        self.coordinator.servers.state().desk.schema.table(name, used)
    }

    fn table_of(&self, statement: &Statement, used: Option<&str>) -> Result<Option<Arc<Table>>, Refusal> {
        match statement {
            Statement::Select(select) => self.table(&select.table, used).map(Some),
            Statement::Change(change) => self.table(change.table(), used).map(Some),
            Statement::Batch { changes, .. } => {
                changes.first().map(|change| self.table(change.table(), used)).transpose()
            }
            Statement::Use(_)
            | Statement::CreateKeyspace { .. }
            | Statement::CreateTable(_)
            | Statement::DropKeyspace { .. }
            | Statement::DropTable { .. }
            | Statement::Truncate(_) => Ok(None),
        }
    }

    /// What is to be bound to each marker.
    fn markers(
        &self,
        statement: &Statement,
        names: &[Option<String>],
        used: Option<&str>,
    ) -> Result<Vec<Marker>, Refusal> {
        let mut slots: Vec<(cql::Term, Kind, String)> = Vec::new();
        let own = |slots: Vec<(&cql::Term, Kind, String)>| {
            slots.into_iter().map(|(term, kind, name)| (term.clone(), kind, name)).collect::<Vec<_>>()
        };
        match statement {
            Statement::Select(select) => {
                let table = self.table(&select.table, used)?;
                slots.append(&mut own(select::slots(select, &table)?));
            }
            Statement::Change(one) => {
                let table = self.table(one.table(), used)?;
                slots.append(&mut own(change::slots(one, &table)?));
            }
            Statement::Batch { using, changes, .. } => {
                slots.append(&mut own(change::using_slots(using)));
                for one in changes {
                    let table = self.table(one.table(), used)?;
                    slots.append(&mut own(change::slots(one, &table)?));
                }
            }
            _ => {}
        }
        let marker = |(number, name): (usize, &Option<String>)| {
            let slot = slots.iter().find(|(term, ..)| *term == cql::Term::Marker(number));
            let (_, kind, column) =
                slot.ok_or_else(|| Refusal::not_served("a marker in the arguments of a function"))?;
            Ok(Marker { name: name.clone().unwrap_or_else(|| column.clone()), kind: kind.clone() })
        };
        names.iter().enumerate().map(marker).collect()
    }

    fn values(
        &self,
        (statement, names): &Parsed,
        given: Vec<(Option<String>, Bound)>,
        used: Option<&str>,
    ) -> Result<Values, Refusal> {
        let moment = self.moment();
        if given.iter().all(|(name, _)| name.is_none()) {
            if given.len() != names.len() && !given.is_empty() {
                return Err(Refusal::invalid("Invalid amount of bind variables"));
            }
            return Ok(Values { bound: given.into_iter().map(|(_, bound)| bound).collect(), moment });
        }
        let markers = self.markers(statement, names, used)?;
        let of = |marker: &Marker| {
            let found = given.iter().find(|(name, _)| name.as_ref() == Some(&marker.name));
            found.map_or(Bound::Unset, |(_, bound)| bound.clone())
        };
        Ok(Values { bound: markers.iter().map(of).collect(), moment })
    }

    fn moment(&self) -> Moment {
        let Coordinator { servers, number } = &self.coordinator;
        let wall = self.coordinator.now().wall;
        servers.state().desk.moment(*number, wall)
    }

    async fn run(&self, parsed: Parsed, options: Options, used: Option<String>) -> Result<Reply, Refusal> {
        let used = used.or_else(|| self.used());
        let used = used.as_deref();
        let values = self.values(&parsed, options.values, used)?;
        let Options { level, serial, timestamp, page, .. } = options;
        match &*parsed.0 {
            Statement::Select(select) => self.select(select, &values, (level, page), used).await,
            Statement::Change(one) => {
                let change = self.resolved(one, &values, timestamp, used)?;
                self.change(vec![change], level, serial, None).await
            }
            Statement::Batch { is_logged, using, changes } => {
                change::check_batch(using, changes)?;
                let timestamp = change::timestamp_of(using, &values)?.or(timestamp);
                let changes = changes.iter().map(|one| self.resolved(one, &values, timestamp, used));
                let changes = changes.collect::<Result<Vec<_>, _>>()?;
                let write = batch_type(*is_logged, &changes);
                self.change(changes, level, serial, Some(write)).await
            }
            other => self.define(other, &values, used),
        }
    }

    fn resolved(
        &self,
        one: &cql::Change,
        values: &Values,
        timestamp: Option<i64>,
        used: Option<&str>,
    ) -> Result<Change, Refusal> {
        let table = self.table(one.table(), used)?;
        if is_system(&table.keyspace) {
            let keyspace = &table.keyspace;
            return Err(Refusal::invalid(format!("{keyspace} keyspace is not user-modifiable")));
        }
        change::resolve(one, &table, values, timestamp)
    }

    /// `batch`: of which kind the batch is that they are of.
    async fn change(
        &self,
        changes: Vec<Change>,
        level: Level,
        serial: Level,
        batch: Option<WriteType>,
    ) -> Result<Reply, Refusal> {
        match &changes[..] {
            [] => Ok(Reply::void()),
            [one] if one.condition.is_some() => {
                let shown = self.coordinator.transact(one, level, serial, batch.is_some()).await?;
                Ok(Reply::rows(&shown))
            }
            many if many.iter().any(|change| change.condition.is_some()) => {
                Err(Refusal::not_served("conditions in a batch of several statements"))
            }
            many => {
                self.coordinator.write(many, level, batch.unwrap_or(WriteType::Simple)).await?;
                Ok(Reply::void())
            }
        }
    }

    async fn select(
        &self,
        select: &cql::Select,
        values: &Values,
        (level, page): (Level, Option<i32>),
        used: Option<&str>,
    ) -> Result<Reply, Refusal> {
        let table = self.table(&select.table, used)?;
        if is_system(&table.keyspace) {
            let all = self.view(|view| system::table(view, &table.keyspace, &table.name));
            let mut rows = all.map(|(_, rows)| rows).unwrap_or_default();
            // Whatever columns it asks for: there are few rows.
            let filtered = cql::Select { filters: true, ..select.clone() };
            let plan = select::plan(&filtered, &table, values)?;
            rows.retain(|row| plan.wants(&table, row));
            rows.truncate(plan.limit.unwrap_or(usize::MAX));
            return Ok(Reply::rows(&select::show(select, &table, &rows, values)?));
        }
        let plan = select::plan(select, &table, values)?;
        select::columns(select, &table)?;
        // Page by page, partitions are read one by one (`MultiPartitionPager`).
        let fits =
            |page: i32| plan.limit.is_some_and(|limit| i32::try_from(limit).is_ok_and(|limit| limit <= page));
        let is_at_once = page.is_none_or(|page| page <= 0 || fits(page));
        if level.is_serial() && is_at_once && plan.keys.as_ref().is_some_and(|keys| keys.len() > 1) {
            return Err(Refusal::invalid(
                "SERIAL/LOCAL_SERIAL consistency may only be requested for one partition at a time",
            ));
        }
        let rows = self.coordinator.read(&table, &plan, level).await?;
        Ok(Reply::rows(&select::show(select, &table, &rows, values)?))
    }

    async fn batch(&self, body: &mut Reader) -> Result<Reply, Refusal> {
        let is_logged = match body.byte()? {
            0 => true,
            1 => false,
            _ => return Err(Refusal::not_served("batches of counters")),
        };
        let used = self.used();
        let mut asked = Vec::new();
        for _ in 0..body.short()? {
            let (parsed, keyspace): (Parsed, Option<String>) = match body.byte()? {
                0 => {
                    let (statement, markers) = parse(&body.long_string()?)?;
                    ((statement.into(), markers.into()), used.clone())
                }
                1 => {
                    let prepared = self.prepared(&body.short_bytes()?)?;
                    ((prepared.statement, prepared.markers), prepared.keyspace)
                }
                other => {
                    return Err(Refusal::Protocol(format!("Invalid query kind in BATCH messages: {other}")));
                }
            };
            let given: Result<Vec<_>, _> =
                (0..body.short()?).map(|_| body.value().map(|bound| (None, bound))).collect();
            asked.push((parsed, keyspace, given?));
        }
        let level = Level::read(body)?;
        let flags = body.byte()?;
        let serial = if flags & SERIAL != 0 { Level::read(body)? } else { Level::SERIAL };
        let timestamp = if flags & TIMESTAMP != 0 { Some(timestamp(body)?) } else { None };
        let mut changes = Vec::new();
        for (parsed, keyspace, given) in asked {
            let keyspace = keyspace.or_else(|| used.clone());
            let values = self.values(&parsed, given, keyspace.as_deref())?;
            let Statement::Change(one) = &*parsed.0 else {
                return Err(Refusal::invalid(
                    "Invalid statement in batch: only UPDATE, INSERT and DELETE statements are allowed.",
                ));
            };
            changes.push(self.resolved(one, &values, timestamp, keyspace.as_deref())?);
        }
        let write = batch_type(is_logged, &changes);
        self.change(changes, level, serial, Some(write)).await
    }

    /// Changes the schema, or what of it is in use.
    fn define(&self, statement: &Statement, values: &Values, used: Option<&str>) -> Result<Reply, Refusal> {
        const KEYSPACE: i32 = 3;
        const SCHEMA: i32 = 5;
        let servers = &self.coordinator.servers;
        let mut warnings = Vec::new();
        let changed: Option<SchemaChange> = match statement {
            Statement::Use(keyspace) => {
                let is_there =
                    is_system(keyspace) || servers.state().desk.schema.keyspaces.contains_key(keyspace);
                if !is_there {
                    return Err(Refusal::invalid(format!("Keyspace '{keyspace}' does not exist")));
                }
                *self.keyspace.lock().unwrap_or_else(PoisonError::into_inner) = Some(keyspace.clone());
                let mut reply = Reply::result(KEYSPACE, "in use");
                reply.body.string(keyspace);
                return Ok(reply);
            }
            Statement::Truncate(table) => {
                servers.state().desk.schema.truncate(table, used)?;
                return Ok(Reply::void());
            }
            Statement::CreateKeyspace { name, unless_there, replication } => {
                warnings.extend(replicas_warning(replication, servers.count()));
                let schema = &mut servers.state().desk.schema;
                schema.create_keyspace(name.clone(), *unless_there, replication.clone())?
            }
            Statement::CreateTable(made) => {
                let ttl = made.default_ttl.as_ref();
                let ttl = match ttl.map(|term| values.number(term, &Kind::Int, "default_time_to_live")) {
                    Some(ttl) => ttl?,
                    None => Number::Unset,
                };
                let ttl = if let Number::Is(ttl) = ttl { ttl } else { 0 };
                let ttl = u32::try_from(ttl).map_err(|_| {
                    Refusal::configuration(format!(
                        "default_time_to_live must be greater than or equal to 0 (got {ttl})"
                    ))
                })?;
                servers.state().desk.schema.create_table(made, used, ttl)?
            }
            Statement::DropKeyspace { name, if_there } => {
                servers.state().desk.schema.drop_keyspace(name.clone(), *if_there)?
            }
            Statement::DropTable { table, if_there } => {
                servers.state().desk.schema.drop_table(table, used, *if_there)?
            }
            Statement::Select(_) | Statement::Change(_) | Statement::Batch { .. } => {
                unreachable!("what asks for rows or changes them does not change the schema")
            }
        };
        warnings.iter().for_each(|warning| self.missing(warning));
        let Some(changed) = changed else { return Ok(Reply { warnings, ..Reply::void() }) };
        servers.state().desk.tell(&changed);
        let mut reply = Reply { warnings, ..Reply::result(SCHEMA, "the schema is changed") };
        changed.write(&mut reply.body);
        Ok(reply)
    }
}

/// Every server has everything: whoever asks for another number of replicas is told.
fn replicas_warning(replication: &[(String, String)], servers: u8) -> Option<String> {
    let asked = replication.iter().filter(|(key, _)| key != "class");
    let other = asked.into_iter().find(|(_, factor)| *factor != servers.to_string())?;
    Some(format!(
        "not served: {} of {} replicas: each of the {servers} servers has everything",
        other.0, other.1
    ))
}

fn batch_type(is_logged: bool, changes: &[Change]) -> WriteType {
    let is_one =
        changes.iter().all(|change| (change.table.id, &change.key) == (changes[0].table.id, &changes[0].key));
    match (is_one, is_logged) {
        (true, _) => WriteType::Simple,
        (false, true) => WriteType::Batch,
        (false, false) => WriteType::UnloggedBatch,
    }
}

const VALUES: u8 = 0x01;
const PAGE_SIZE: u8 = 0x04;
const PAGING_STATE: u8 = 0x08;
const SERIAL: u8 = 0x10;
const TIMESTAMP: u8 = 0x20;
const NAMES: u8 = 0x40;

/// What stands behind a statement (`native_protocol_v4.spec`, 4.1.4).
fn options(body: &mut Reader) -> Result<Options, Refusal> {
    let level = Level::read(body)?;
    let flags = body.byte()?;
    let mut options =
        Options { level, serial: Level::SERIAL, values: Vec::new(), timestamp: None, page: None };
    if flags & VALUES != 0 {
        for _ in 0..body.short()? {
            let name = if flags & NAMES != 0 { Some(body.string()?) } else { None };
            options.values.push((name, body.value()?));
        }
    }
    if flags & PAGE_SIZE != 0 {
        options.page = Some(body.int()?);
    }
    if flags & PAGING_STATE != 0 {
        body.bytes()?;
    }
    if flags & SERIAL != 0 {
        options.serial = Level::read(body)?;
        if !matches!(options.serial.0, 8 | 9) {
            return Err(Refusal::invalid(format!(
                "Invalid consistency for conditional update. Must be one of SERIAL or LOCAL_SERIAL, but is {}",
                super::refusal::level_name(options.serial)
            )));
        }
    }
    if flags & TIMESTAMP != 0 {
        options.timestamp = Some(timestamp(body)?);
    }
    Ok(options)
}

/// A client's own timestamp (`QueryOptions.Codec`).
fn timestamp(body: &mut Reader) -> Result<i64, Refusal> {
    match body.long()? {
        i64::MIN => Err(Refusal::Protocol(format!(
            "Out of bound timestamp, must be in [{}, {}] (got {})",
            i64::MIN + 1,
            i64::MAX,
            i64::MIN
        ))),
        other => Ok(other),
    }
}
