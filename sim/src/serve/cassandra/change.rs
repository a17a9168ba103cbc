//! Changes, with everything in them that the schema and the request's values say: which cells of which row become what.

use super::cql::{self, Condition, Operator, Relation, Term, Using};
use super::frame::Bound;
use super::kinds::Kind;
use super::names::{Cell, Clustering, Decided, MARKER, Names, TOMBSTONE_SECONDS, merge};
use super::refusal::Refusal;
use super::schema::Table;
use super::select::Row;
use super::values::{Number, Values};
use bytes::Bytes;
use picklock_model::stores::cassandra::{self, ColumnName, Mutation, Target};
use picklock_model::time::Wall;
use std::sync::Arc;

/// A change of one partition.
#[derive(Clone, Debug)]
pub struct Change {
    pub table: Arc<Table>,
    pub key: Bytes,
    pub what: What,
    /// What the client gives, in microseconds since 1970.
    pub timestamp: Option<i64>,
    pub ttl_seconds: Option<u32>,
    pub condition: Option<If>,
}

#[derive(Clone, Debug)]
pub enum What {
    /// These cells of a row, by the numbers of their columns; `None`: deleted.
    Cells { clustering: Clustering, cells: Vec<(u16, Option<Bytes>)> },
    /// All that is older in the partition.
    DeletePartition,
}

/// On what a change depends.
#[derive(Clone, Debug)]
pub enum If {
    NotExists,
    Exists,
    /// Places of columns in the table.
    Columns(Vec<(usize, Operator, Vec<Option<Bytes>>)>),
}

/// The last second at which a cell may end: its time is kept in 32 bits (`Cell.MAX_DELETION_TIME`).
const ENDS_SECONDS_MAX: i64 = i32::MAX as i64 - 1;
/// Longer than 20 years (`Attributes.MAX_TTL`).
const TTL_SECONDS_MAX: i64 = 630_720_000;

/// `(term, type, name)` of everything in a change that may be a marker.
pub fn slots<'a>(change: &'a cql::Change, table: &Table) -> Result<Vec<(&'a Term, Kind, String)>, Refusal> {
    let mut slots = using_slots(change.using());
    let relations = |relations: &'a [Relation]| -> Result<Vec<(&'a Term, Kind, String)>, Refusal> {
        let mut slots = Vec::new();
        for relation in relations {
            let column = &table.columns[table.column(&relation.column)?];
            slots.extend(relation.terms.iter().map(|term| (term, column.kind.clone(), column.name.clone())));
        }
        Ok(slots)
    };
    let (values, asked): (&[(String, Term)], &[Relation]) = match change {
        cql::Change::Insert(insert) => (&insert.values, &[]),
        cql::Change::Update(update) => (&update.values, &update.relations),
        cql::Change::Delete(delete) => (&[], &delete.relations),
    };
    for (name, term) in values {
        let column = &table.columns[table.column(name)?];
        slots.push((term, column.kind.clone(), column.name.clone()));
    }
    slots.extend(relations(asked)?);
    if let Some(Condition::Columns(conditions)) = change.condition() {
        slots.extend(relations(conditions)?);
    }
    Ok(slots)
}

pub fn using_slots(using: &Using) -> Vec<(&Term, Kind, String)> {
    let timestamp = using.timestamp.iter().map(|term| (term, Kind::Bigint, "[timestamp]".to_owned()));
    let ttl = using.ttl.iter().map(|term| (term, Kind::Int, "[ttl]".to_owned()));
    timestamp.chain(ttl).collect()
}

/// What a `USING TIMESTAMP` says.
pub fn timestamp_of(using: &Using, values: &Values) -> Result<Option<i64>, Refusal> {
    let Some(term) = &using.timestamp else { return Ok(None) };
    match values.number(term, &Kind::Bigint, "[timestamp]")? {
        Number::Is(i64::MIN) => Err(Refusal::invalid(format!(
            "Out of bound timestamp, must be in [{}, {}]",
            i64::MIN + 1,
            i64::MAX
        ))),
        Number::Is(timestamp) => Ok(Some(timestamp)),
        Number::Null => Err(Refusal::invalid("Invalid null value of timestamp")),
        Number::Unset => Ok(None),
    }
}

/// What a batch may not have (`BatchStatement.validate`).
pub fn check_batch(using: &Using, changes: &[cql::Change]) -> Result<(), Refusal> {
    if using.ttl.is_some() {
        return Err(Refusal::invalid("Global TTL on the BATCH statement is not supported."));
    }
    if using.timestamp.is_none() {
        return Ok(());
    }
    if changes.iter().any(|change| change.condition().is_some()) {
        return Err(Refusal::invalid("Cannot provide custom timestamp for conditional BATCH"));
    }
    if changes.iter().any(|change| change.using().timestamp.is_some()) {
        return Err(Refusal::invalid("Timestamp must be set either on BATCH or individual statements"));
    }
    Ok(())
}

/// The change, with its values. `timestamp` is that of the batch, or of the request.
pub fn resolve(
    change: &cql::Change,
    table: &Arc<Table>,
    values: &Values,
    timestamp: Option<i64>,
) -> Result<Change, Refusal> {
    let using = change.using();
    let ttl = using.ttl.as_ref().map(|term| values.number(term, &Kind::Int, "[ttl]")).transpose()?;
    let ttl = match ttl {
        Some(Number::Is(ttl)) => Some(ttl),
        // None at all, whatever the table has (`Attributes.getTimeToLive`).
        Some(Number::Null) => Some(0),
        Some(Number::Unset) | None => None,
    };
    let ttl_seconds = match ttl {
        None => Some(table.default_ttl),
        Some(ttl) if ttl < 0 => {
            return Err(Refusal::invalid(format!("A TTL must be greater or equal to 0, but was {ttl}")));
        }
        Some(ttl) if ttl > TTL_SECONDS_MAX => {
            return Err(Refusal::invalid(format!(
                "ttl is too large. requested ({ttl}) maximum ({TTL_SECONDS_MAX})"
            )));
        }
        Some(ttl) => u32::try_from(ttl).ok(),
    };
    let given = timestamp_of(using, values)?;
    if using.timestamp.is_some() && change.condition().is_some() {
        return Err(Refusal::invalid("Cannot provide custom timestamp for conditional updates"));
    }
    let (key, what) = match change {
        cql::Change::Insert(insert) => inserted(insert, table, values)?,
        cql::Change::Update(update) => updated(update, table, values)?,
        cql::Change::Delete(delete) => deleted(delete, table, values)?,
    };
    if key.is_empty() {
        return Err(Refusal::invalid("Key may not be empty"));
    }
    let condition =
        change.condition().map(|condition| resolved_condition(condition, table, values)).transpose()?;
    if condition.is_some() && matches!(what, What::DeletePartition) {
        return Err(Refusal::invalid(
            "DELETE statements must restrict all PRIMARY KEY columns with equality relations in order to delete non static columns",
        ));
    }
    let ttl_seconds = ttl_seconds.filter(|seconds| *seconds > 0);
    if let Some(seconds) = ttl_seconds
        && values.moment.unix_micros / 1_000_000 + i64::from(seconds) > ENDS_SECONDS_MAX
    {
        // `ExpirationDateOverflowHandling`, where nothing else is set.
        let (Table { keyspace, name, .. }, default) = (&**table, if ttl.is_none() { "default " } else { "" });
        return Err(Refusal::invalid(format!(
            "Request on table {keyspace}.{name} with {default}ttl of {seconds} seconds exceeds maximum supported expiration date of \
             2038-01-19T03:14:06+00:00. In order to avoid this use a lower TTL, change the expiration date overflow policy or upgrade to a \
             version where this limitation is fixed. See CASSANDRA-14092 for more details."
        )));
    }
    Ok(Change { table: table.clone(), key, what, timestamp: given.or(timestamp), ttl_seconds, condition })
}

fn inserted(insert: &cql::Insert, table: &Table, values: &Values) -> Result<(Bytes, What), Refusal> {
    for (at, (name, _)) in insert.values.iter().enumerate() {
        table.column(name)?;
        if insert.values[..at].iter().any(|(other, _)| other == name) {
            return Err(Refusal::invalid(format!("The column names contains duplicates: {name}")));
        }
    }
    let key = |columns: &[super::schema::Column], what: &str| -> Result<Vec<Bytes>, Refusal> {
        let of = |column: &super::schema::Column| {
            let value = insert.values.iter().find(|(name, _)| *name == column.name);
            let (_, term) =
                value.ok_or_else(|| Refusal::invalid(format!("Some {what} are missing: {}", column.name)))?;
            values.required(term, &column.kind, &column.name)
        };
        columns.iter().map(of).collect()
    };
    let partition = key(table.partition_key(), "partition key parts")?;
    let clustering = key(table.clustering_key(), "clustering keys")?;
    let mut cells = vec![(MARKER, Some(Bytes::new()))];
    cells.append(&mut regular(&insert.values, table, values)?);
    let clustering = Clustering { order: table.order(&clustering), values: clustering };
    Ok((table.key(&partition), What::Cells { clustering, cells }))
}

/// The cells of the columns that are no key.
fn regular(
    set: &[(String, Term)],
    table: &Table,
    values: &Values,
) -> Result<Vec<(u16, Option<Bytes>)>, Refusal> {
    let mut cells = Vec::new();
    for (name, term) in set {
        let at = table.column(name)?;
        if at < table.key_columns() {
            continue;
        }
        let column = &table.columns[at];
        match values.term(term, &column.kind, name)? {
            Bound::Bytes(bytes) => cells.push((table.number(at), Some(bytes))),
            Bound::Null => cells.push((table.number(at), None)),
            Bound::Unset => {}
        }
    }
    Ok(cells)
}

fn updated(update: &cql::Update, table: &Table, values: &Values) -> Result<(Bytes, What), Refusal> {
    for (at, (name, _)) in update.values.iter().enumerate() {
        if table.column(name)? < table.key_columns() {
            return Err(Refusal::invalid(format!("PRIMARY KEY part {name} found in SET part")));
        }
        if update.values[..at].iter().any(|(other, _)| other == name) {
            return Err(Refusal::invalid(format!("Multiple incompatible setting of column {name}")));
        }
    }
    let (partition, clustering) = primary_key(&update.relations, table, values)?;
    let Some(clustering) = clustering else {
        let missing = table.clustering_key().first().map_or("", |column| &column.name);
        return Err(Refusal::invalid(format!("Some clustering keys are missing: {missing}")));
    };
    let cells = regular(&update.values, table, values)?;
    Ok((table.key(&partition), What::Cells { clustering, cells }))
}

fn deleted(delete: &cql::Delete, table: &Table, values: &Values) -> Result<(Bytes, What), Refusal> {
    let (partition, clustering) = primary_key(&delete.relations, table, values)?;
    let key = table.key(&partition);
    let Some(clustering) = clustering else {
        return match delete.columns.is_empty() {
            true => Ok((key, What::DeletePartition)),
            false => Err(Refusal::invalid("Range deletions are not supported for specific columns")),
        };
    };
    let mut cells = Vec::new();
    for name in &delete.columns {
        let at = table.column(name)?;
        if at < table.key_columns() {
            return Err(Refusal::invalid(format!(
                "Invalid identifier {name} for deletion (should not be a PRIMARY KEY part)"
            )));
        }
        cells.push((table.number(at), None));
    }
    if delete.columns.is_empty() {
        cells.push((MARKER, None));
        cells.extend((table.key_columns()..table.columns.len()).map(|at| (table.number(at), None)));
    }
    Ok((key, What::Cells { clustering, cells }))
}

/// The key that relations name. No clustering: they name the partition only.
fn primary_key(
    relations: &[Relation],
    table: &Table,
    values: &Values,
) -> Result<(Vec<Bytes>, Option<Clustering>), Refusal> {
    let is_named =
        |column: &&super::schema::Column| relations.iter().any(|relation| relation.column == column.name);
    let missing = table.partition_key().iter().find(|column| !is_named(column));
    for (at, relation) in relations.iter().enumerate() {
        let column = table.column(&relation.column)?;
        if let Some(missing) = missing {
            return Err(Refusal::invalid(format!("Some partition key parts are missing: {}", missing.name)));
        }
        if column >= table.key_columns() {
            return Err(Refusal::invalid(format!(
                "Non PRIMARY KEY columns found in where clause: {} ",
                relation.column
            )));
        }
        if relation.operator != Operator::Equal {
            return Err(Refusal::not_served(format!(
                "a change of rows where {} is anything but equal to a value",
                relation.column
            )));
        }
        if relations[..at].iter().any(|other| other.column == relation.column) {
            let column = &relation.column;
            return Err(Refusal::invalid(format!(
                "{column} cannot be restricted by more than one relation if it includes an Equal"
            )));
        }
    }
    let of = |column: &super::schema::Column| {
        let relation = relations.iter().find(|relation| relation.column == column.name)?;
        relation.terms.first().map(|term| values.required(term, &column.kind, &column.name))
    };
    let partition = table.partition_key().iter().map(|column| {
        let missing = || Refusal::invalid(format!("Some partition key parts are missing: {}", column.name));
        of(column).ok_or_else(missing)?
    });
    let partition = partition.collect::<Result<Vec<_>, _>>()?;
    let clustering = table.clustering_key().iter().map(of).collect::<Vec<_>>();
    let given = clustering.iter().flatten().count();
    if given == 0 && !clustering.is_empty() {
        return Ok((partition, None));
    }
    if given < clustering.len() {
        return Err(Refusal::not_served("a change of the rows that a part of the clustering key names"));
    }
    let clustering = clustering.into_iter().flatten().collect::<Result<Vec<_>, _>>()?;
    Ok((partition, Some(Clustering { order: table.order(&clustering), values: clustering })))
}

fn resolved_condition(condition: &Condition, table: &Table, values: &Values) -> Result<If, Refusal> {
    let relations = match condition {
        Condition::NotExists => return Ok(If::NotExists),
        Condition::Exists => return Ok(If::Exists),
        Condition::Columns(relations) => relations,
    };
    let resolved = relations.iter().map(|Relation { column, operator, terms }| {
        let at = table.column(column)?;
        if at < table.key_columns() {
            return Err(Refusal::invalid(format!("PRIMARY KEY column '{column}' cannot have IF conditions")));
        }
        let mut wanted = Vec::new();
        for term in terms {
            match values.term(term, &table.columns[at].kind, column)? {
                Bound::Bytes(bytes) => wanted.push(Some(bytes)),
                Bound::Null => wanted.push(None),
                // Of several it is left out.
                Bound::Unset if *operator == Operator::In => {}
                Bound::Unset => return Err(Refusal::invalid("Invalid 'unset' value in condition")),
            }
        }
        if wanted.contains(&None)
            && let Some(sign) = operator.sign_of_comparison()
        {
            return Err(Refusal::invalid(format!("Invalid comparison with null for operator \"{sign}\"")));
        }
        Ok((at, *operator, wanted))
    });
    resolved.collect::<Result<Vec<_>, _>>().map(If::Columns)
}

impl If {
    /// Whether a row, which may not be there, meets it.
    pub fn is_met(&self, table: &Table, row: Option<&Row>) -> bool {
        match self {
            If::NotExists => row.is_none(),
            If::Exists => row.is_some(),
            If::Columns(columns) => columns.iter().all(|(at, operator, wanted)| {
                let found = row.and_then(|row| row.values[*at].as_ref());
                holds(&table.columns[*at].kind, found, *operator, wanted)
            }),
        }
    }
}

/// Whether a value stands in this relation to others (`ColumnCondition.java` `compareWithOperator`).
pub fn holds(kind: &Kind, found: Option<&Bytes>, operator: Operator, wanted: &[Option<Bytes>]) -> bool {
    let first = wanted.first().and_then(Option::as_ref);
    let order = |bytes: &Bytes| kind.order(bytes);
    let compares = |is: fn(&Vec<u8>, &Vec<u8>) -> bool| match (found, first) {
        (Some(found), Some(wanted)) => is(&order(found), &order(wanted)),
        (_, _) => false,
    };
    match operator {
        Operator::Equal => found == first,
        Operator::NotEqual => found != first,
        Operator::In => wanted.iter().any(|wanted| found == wanted.as_ref()),
        Operator::Less => compares(|found, wanted| found < wanted),
        Operator::LessOrEqual => compares(|found, wanted| found <= wanted),
        Operator::Greater => compares(|found, wanted| found > wanted),
        Operator::GreaterOrEqual => compares(|found, wanted| found >= wanted),
    }
}

impl Change {
    /// The change as the simulated coordinator takes it.
    pub fn mutations(
        &self,
        names: &mut Names,
        timestamp: Wall,
        now_seconds: i64,
    ) -> Result<Vec<Mutation>, Refusal> {
        let row = names.partition(self.table.id, &self.key)?;
        let expiry = self.ttl_seconds.map(|ttl| now_seconds + i64::from(ttl));
        let mutation = |target: ColumnName, change: cassandra::Change| Mutation {
            row,
            target: Target::Column(target),
            change,
            timestamp: Some(timestamp),
        };
        match &self.what {
            What::DeletePartition => {
                let write = names.write(timestamp, None);
                let value = names.value(&Bytes::new(), write);
                names.deletes_all(row);
                let put = cassandra::Change::Put { value, ttl_seconds: None };
                Ok(vec![mutation(names.partition_deletion(), put)])
            }
            What::Cells { clustering, cells } => {
                let write = names.write(timestamp, expiry);
                let all = cells.iter().map(|(column, bytes)| {
                    let target = names.column(clustering, *column);
                    let (value, ttl_seconds) = match bytes {
                        None => (names.tombstone(write), Some(TOMBSTONE_SECONDS)),
                        Some(bytes) => (names.value(bytes, write), self.ttl_seconds),
                    };
                    mutation(target, cassandra::Change::Put { value, ttl_seconds })
                });
                Ok(all.collect())
            }
        }
    }

    /// Adds its cells to what lightweight transactions have come to.
    pub fn decide(&self, decided: &mut Decided, timestamp: Wall, now_seconds: i64) {
        let What::Cells { clustering, cells } = &self.what else { return };
        let expiry = self.ttl_seconds.map(|ttl| now_seconds + i64::from(ttl));
        for (column, bytes) in cells {
            let expiry_seconds = bytes.as_ref().and(expiry);
            let cell = Cell { bytes: bytes.clone(), timestamp, expiry_seconds };
            merge(decided, (clustering.clone(), *column), cell);
        }
    }
}
