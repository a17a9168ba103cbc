//! What a `SELECT` shows: cells to rows, rows to those that are asked for, and these to what is written of them.

use super::change::holds;
use super::cql::{self, Operator, Selector, Term};
use super::frame::{Bound, Writer};
use super::kinds::Kind;
use super::names::{Cell, Clustering, MARKER, Place};
use super::refusal::Refusal;
use super::schema::{Role, Table};
use super::values::{Number, Values};
use crate::serve::watch::abridged;
use bytes::Bytes;
use picklock_model::time::Wall;
use std::collections::BTreeMap;

/// A row that is there: a value for each column of its table.
#[derive(Clone, Debug)]
pub struct Row {
    pub values: Vec<Option<Bytes>>,
    /// Write timestamps in microseconds since 1970 and seconds to live of those that are no key.
    pub ages: Vec<Option<(i64, Option<i64>)>>,
}

/// A relation with its values: the place of a column, how, and to what.
pub type Asked = (usize, Operator, Vec<Option<Bytes>>);

/// A `SELECT` with everything that the schema and the request's values say.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Keys of partitions; `None`: all there are.
    pub keys: Option<Vec<Bytes>>,
    pub asked: Vec<Asked>,
    /// Rows come last one first.
    pub reversed: bool,
    pub limit: Option<usize>,
    /// No row before these is asked for.
    pub from: Option<Clustering>,
    /// It is one row at most.
    pub is_one: bool,
}

/// What rows are shown with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shown {
    pub keyspace: String,
    pub table: String,
    pub columns: Vec<(String, Kind)>,
    pub rows: Vec<Vec<Option<Bytes>>>,
}

/// `(term, type, name)` of everything in it that may be a marker.
pub fn slots<'a>(select: &'a cql::Select, table: &Table) -> Result<Vec<(&'a Term, Kind, String)>, Refusal> {
    let mut slots = Vec::new();
    for relation in &select.relations {
        let column = &table.columns[table.column(&relation.column)?];
        slots.extend(relation.terms.iter().map(|term| (term, column.kind.clone(), column.name.clone())));
    }
    slots.extend(select.limit.iter().map(|term| (term, Kind::Int, "[limit]".to_owned())));
    Ok(slots)
}

const FILTERING: &str = "Cannot execute this query as it might involve data filtering and thus may have unpredictable \
performance. If you want to execute this query despite the performance unpredictability, use ALLOW FILTERING";

pub fn plan(select: &cql::Select, table: &Table, values: &Values) -> Result<Plan, Refusal> {
    let mut asked: Vec<Asked> = Vec::new();
    for relation in &select.relations {
        let at = table.column(&relation.column)?;
        let column = &table.columns[at];
        if relation.operator == Operator::NotEqual {
            return Err(Refusal::invalid(format!("Unsupported \"!=\" relation: {} != ?", column.name)));
        }
        let is_key = at < table.key_columns();
        let value = |term: &Term| match values.term(term, &column.kind, &column.name)? {
            Bound::Null if !is_key => {
                Err(Refusal::invalid(format!("Unsupported null value for column {}", column.name)))
            }
            Bound::Unset if !is_key => {
                Err(Refusal::invalid(format!("Unsupported unset value for column {}", column.name)))
            }
            _ => values.required(term, &column.kind, &column.name).map(Some),
        };
        let terms = relation.terms.iter().map(value);
        asked.push((at, relation.operator, terms.collect::<Result<Vec<_>, _>>()?));
    }
    let keys = keys(table, &asked, select.filters)?;
    check_repeated(table, &asked)?;
    let is_equal =
        |at: usize| asked.iter().any(|(of, operator, _)| *of == at && *operator == Operator::Equal);
    let clustering = table.partition_columns..table.key_columns();
    if !select.filters {
        let mut before: Option<usize> = None;
        for at in clustering.clone() {
            let is_asked = asked.iter().any(|(of, ..)| *of == at);
            if let (true, Some(before)) = (is_asked, before) {
                return Err(Refusal::invalid(format!(
                    "PRIMARY KEY column \"{}\" cannot be restricted as preceding column \"{}\" is not restricted",
                    table.columns[at].name, table.columns[before].name
                )));
            }
            if !is_equal(at) {
                before = before.or(Some(at));
            }
        }
        if asked.iter().any(|(at, ..)| *at >= table.key_columns()) || (keys.is_none() && !asked.is_empty()) {
            return Err(Refusal::invalid(FILTERING));
        }
    }
    let reversed = reversed(select, table, keys.is_some())?;
    let limit = match &select.limit {
        None => None,
        Some(term) => match values.number(term, &Kind::Int, "[limit]")? {
            Number::Unset => None,
            Number::Null => return Err(Refusal::invalid("Invalid null value of limit")),
            Number::Is(limit) if limit <= 0 => {
                return Err(Refusal::invalid("LIMIT must be strictly positive"));
            }
            Number::Is(limit) => usize::try_from(limit).ok(),
        },
    };
    let from = first_row(table, &asked);
    let is_one = clustering.clone().all(is_equal);
    Ok(Plan { keys, asked, reversed, limit, from, is_one })
}

/// What relations of one column do not go together (`SingleColumnRestriction.java`); those of the partition key are looked at where keys
/// are made of them.
fn check_repeated(table: &Table, asked: &[Asked]) -> Result<(), Refusal> {
    for (place, (at, operator, _)) in asked.iter().enumerate() {
        let earlier = asked[..place].iter().find(|(of, ..)| of == at && *at >= table.partition_columns);
        let Some((_, before, _)) = earlier else { continue };
        let name = &table.columns[*at].name;
        let is_start = |operator: &Operator| matches!(operator, Operator::Greater | Operator::GreaterOrEqual);
        let is_slice = |operator: &Operator| operator.sign_of_comparison().is_some();
        let is_bound_twice =
            asked[..place].iter().any(|(of, earlier, _)| of == at && is_start(earlier) == is_start(operator));
        return Err(Refusal::invalid(match before {
            Operator::Equal => {
                format!("{name} cannot be restricted by more than one relation if it includes an Equal")
            }
            Operator::In => {
                format!("{name} cannot be restricted by more than one relation if it includes a IN")
            }
            _ if !is_slice(operator) => {
                format!(
                    "Column \"{name}\" cannot be restricted by both an equality and an inequality relation"
                )
            }
            _ if is_bound_twice => {
                let bound = if is_start(operator) { "start" } else { "end" };
                format!("More than one restriction was found for the {bound} bound on {name}")
            }
            _ => continue,
        }));
    }
    Ok(())
}

/// How many partitions a `SELECT` may name (`partition_keys_in_select_fail_threshold`).
const KEYS_MAX: usize = 100;

/// The partitions that are asked for.
fn keys(table: &Table, asked: &[Asked], filters: bool) -> Result<Option<Vec<Bytes>>, Refusal> {
    let mut parts: Vec<Vec<Bytes>> = Vec::new();
    for at in 0..table.partition_columns {
        let of: Vec<&Asked> = asked.iter().filter(|(of, ..)| *of == at).collect();
        match of[..] {
            [] => {}
            [(_, Operator::Equal | Operator::In, values)] => {
                parts.push(values.iter().flatten().cloned().collect());
            }
            [_, _, ..] => {
                let name = &table.columns[at].name;
                return Err(Refusal::invalid(format!(
                    "{name} cannot be restricted by more than one relation if it includes an Equal"
                )));
            }
            [_] if filters => {}
            [_] => {
                return Err(Refusal::invalid(
                    "Only EQ and IN relation are supported on the partition key (unless you use the token() function or allow filtering)",
                ));
            }
        }
    }
    if parts.len() < table.partition_columns {
        return match parts.is_empty() || filters {
            true => Ok(None),
            false => Err(Refusal::invalid(FILTERING)),
        };
    }
    if parts.iter().fold(1, |product: usize, part| product.saturating_mul(part.len())) > KEYS_MAX {
        return Err(Refusal::not_served(format!("more than {KEYS_MAX} partitions behind IN")));
    }
    let mut all: Vec<Vec<Bytes>> = vec![Vec::new()];
    for part in parts {
        all = all
            .into_iter()
            .flat_map(|key| part.iter().map(move |value| [&key[..], std::slice::from_ref(value)].concat()))
            .collect();
    }
    if all.iter().flatten().any(|value| value.is_empty()) && table.partition_columns == 1 {
        return Err(Refusal::invalid("Key may not be empty"));
    }
    let mut keys: Vec<Bytes> = all.iter().map(|values| table.key(values)).collect();
    keys.sort();
    keys.dedup();
    Ok(Some(keys))
}

fn reversed(select: &cql::Select, table: &Table, has_keys: bool) -> Result<bool, Refusal> {
    let mut reversed = None;
    for ((name, descends), column) in select.order.iter().zip(table.clustering_key()) {
        if *name != column.name {
            return Err(Refusal::invalid(format!(
                "Order by currently only supports the ordering of columns following their declared order in the PRIMARY KEY ({name})"
            )));
        }
        let turns = column.role != (Role::Clustering { descends: *descends });
        if reversed.replace(turns).is_some_and(|before| before != turns) {
            return Err(Refusal::invalid("Unsupported order by relation"));
        }
    }
    if select.order.len() > table.clustering_columns {
        return Err(Refusal::invalid(
            "Order by is currently only supported on the clustered columns of the PRIMARY KEY",
        ));
    }
    if !select.order.is_empty() && !has_keys {
        return Err(Refusal::invalid(
            "ORDER BY is only supported when the partition key is restricted by an EQ or an IN.",
        ));
    }
    Ok(reversed.unwrap_or(false))
}

/// Before which no row can be, as far as the clustering key says.
fn first_row(table: &Table, asked: &[Asked]) -> Option<Clustering> {
    let mut values: Vec<Bytes> = Vec::new();
    for (at, column) in
        table.columns.iter().enumerate().take(table.key_columns()).skip(table.partition_columns)
    {
        let descends = column.role == (Role::Clustering { descends: true });
        let bound = asked.iter().find(|(of, operator, _)| {
            *of == at
                && match operator {
                    Operator::Equal => true,
                    Operator::Greater | Operator::GreaterOrEqual => !descends,
                    Operator::Less | Operator::LessOrEqual => descends,
                    Operator::NotEqual | Operator::In => false,
                }
        });
        let Some((_, operator, wanted)) = bound else { break };
        let Some(Some(value)) = wanted.first() else { break };
        values.push(value.clone());
        if *operator != Operator::Equal {
            break;
        }
    }
    (!values.is_empty()).then(|| Clustering { order: table.order(&values), values: Vec::new() })
}

/// The rows of a partition that are there, in their order.
pub fn rows(
    table: &Table,
    key: &Bytes,
    cells: &BTreeMap<Place, Cell>,
    deleted: Option<Wall>,
    now_seconds: i64,
    date: i64,
) -> Vec<(Clustering, Row)> {
    let partition = table.values(key);
    let mut all: Vec<(Clustering, Row)> = Vec::new();
    for ((clustering, column), cell) in cells {
        let is_deleted = deleted.is_some_and(|deleted| cell.timestamp <= deleted);
        if is_deleted || !cell.is_live_at(now_seconds) {
            continue;
        }
        if all.last().is_none_or(|(last, _)| last != clustering) {
            let mut values: Vec<Option<Bytes>> = vec![None; table.columns.len()];
            let key = partition.iter().chain(&clustering.values);
            values.iter_mut().zip(key).for_each(|(place, value)| *place = Some(value.clone()));
            all.push((clustering.clone(), Row { values, ages: vec![None; table.columns.len()] }));
        }
        let Some((_, row)) = all.last_mut() else { continue };
        if *column == MARKER {
            continue;
        }
        let at = table.key_columns() + usize::from(*column) - 1;
        if let (Some(value), Some(age)) = (row.values.get_mut(at), row.ages.get_mut(at)) {
            value.clone_from(&cell.bytes);
            let left = cell.expiry_seconds.map(|expiry| expiry - now_seconds);
            *age = Some((cell.timestamp.0 + date, left));
        }
    }
    all
}

impl Plan {
    /// Whether a row is one of those that are asked for.
    pub fn wants(&self, table: &Table, row: &Row) -> bool {
        self.asked.iter().all(|(at, operator, wanted)| {
            let found = row.values[*at].as_ref();
            found.is_some() && holds(&table.columns[*at].kind, found, *operator, wanted)
        })
    }
}

/// The columns that are shown: names and types.
pub fn columns(select: &cql::Select, table: &Table) -> Result<Vec<(String, Kind)>, Refusal> {
    if select.selectors.is_empty() {
        return Ok(table.columns.iter().map(|column| (column.name.clone(), column.kind.clone())).collect());
    }
    let regular = |name: &str, what: &str| match table.column(name)? {
        at if at < table.key_columns() => {
            Err(Refusal::invalid(format!("Cannot use selection function {what} on PRIMARY KEY part {name}")))
        }
        at => Ok(at),
    };
    let shown = select.selectors.iter().map(|(selector, alias)| {
        let (name, kind) = match selector {
            Selector::Column(name) => (name.clone(), table.columns[table.column(name)?].kind.clone()),
            Selector::WriteTime(name) => {
                regular(name, "writeTime")?;
                (format!("writetime({name})"), Kind::Bigint)
            }
            Selector::Ttl(name) => {
                regular(name, "ttl")?;
                (format!("ttl({name})"), Kind::Int)
            }
            Selector::Count => ("count".to_owned(), Kind::Bigint),
            Selector::Call(name) => {
                let kind = match name.as_str() {
                    "now" | "currenttimeuuid" => Kind::Timeuuid,
                    "uuid" => Kind::Uuid,
                    "currenttimestamp" => Kind::Timestamp,
                    "currentdate" => Kind::Date,
                    other => return Err(Refusal::not_served(format!("the function {other} in SELECT"))),
                };
                (format!("system.{name}()"), kind)
            }
        };
        Ok((alias.clone().unwrap_or(name), kind))
    });
    shown.collect()
}

/// What is shown of these rows.
pub fn show(select: &cql::Select, table: &Table, rows: &[Row], values: &Values) -> Result<Shown, Refusal> {
    let columns = columns(select, table)?;
    let (keyspace, name) = (table.keyspace.clone(), table.name.clone());
    let counts = select.selectors.iter().any(|(selector, _)| *selector == Selector::Count);
    if counts {
        if select.selectors.len() > 1 {
            return Err(Refusal::not_served("count(*) beside other columns"));
        }
        let count = i64::try_from(rows.len()).unwrap_or(i64::MAX);
        let rows = vec![vec![Some(Bytes::copy_from_slice(&count.to_be_bytes()))]];
        return Ok(Shown { keyspace, table: name, columns, rows });
    }
    let mut shown = Vec::new();
    for row in rows {
        if select.selectors.is_empty() {
            shown.push(row.values.clone());
            continue;
        }
        let one = select.selectors.iter().map(|(selector, _)| match selector {
            Selector::Column(name) => Ok(row.values[table.column(name)?].clone()),
            Selector::WriteTime(name) => {
                let age = row.ages[table.column(name)?];
                Ok(age.map(|(at, _)| Bytes::copy_from_slice(&at.to_be_bytes())))
            }
            Selector::Ttl(name) => {
                let left = row.ages[table.column(name)?].and_then(|(_, left)| left);
                let left = left.map(|left| i32::try_from(left).unwrap_or(i32::MAX));
                Ok(left.map(|left| Bytes::copy_from_slice(&left.to_be_bytes())))
            }
            Selector::Count => Ok(None),
            Selector::Call(name) => values.call(name, &[]).map(|(_, bytes)| Some(bytes)),
        });
        shown.push(one.collect::<Result<Vec<_>, Refusal>>()?);
    }
    Ok(Shown { keyspace, table: name, columns, rows: shown })
}

impl Shown {
    /// What comes of a lightweight transaction: whether it was applied, and what was there.
    pub fn applied(table: &Table, is_applied: bool, columns: &[usize], row: Option<&Row>) -> Shown {
        let mut shown = Shown {
            keyspace: table.keyspace.clone(),
            table: table.name.clone(),
            columns: vec![("[applied]".to_owned(), Kind::Boolean)],
            rows: vec![vec![Some(Bytes::copy_from_slice(&[u8::from(is_applied)]))]],
        };
        if let (false, Some(row)) = (is_applied, row) {
            for at in columns {
                let column = &table.columns[*at];
                shown.columns.push((column.name.clone(), column.kind.clone()));
                shown.rows[0].push(row.values[*at].clone());
            }
        }
        shown
    }

    /// The columns, as a result has them.
    pub fn metadata(keyspace: &str, table: &str, columns: &[(String, Kind)]) -> Writer {
        const ONE_TABLE: i32 = 1;
        let mut metadata = Writer::default();
        metadata.int(ONE_TABLE).count(columns.len()).string(keyspace).string(table);
        for (name, kind) in columns {
            kind.write(metadata.string(name));
        }
        metadata
    }

    pub fn body(&self) -> Writer {
        const ROWS: i32 = 2;
        let mut body = Writer::default();
        body.int(ROWS)
            .append(&Shown::metadata(&self.keyspace, &self.table, &self.columns))
            .count(self.rows.len());
        for value in self.rows.iter().flatten() {
            body.bytes(value.as_deref());
        }
        body
    }

    /// In a few words, for the record.
    pub fn text(&self) -> String {
        const ROWS_MAX: usize = 4;
        let row = |row: &Vec<Option<Bytes>>| {
            let one = |((name, kind), value): (&(String, Kind), &Option<Bytes>)| {
                let value =
                    value.as_ref().map_or_else(|| "null".to_owned(), |value| abridged(kind.show(value)));
                format!("{name}={value}")
            };
            format!("({})", self.columns.iter().zip(row).map(one).collect::<Vec<_>>().join(", "))
        };
        let mut rows: Vec<String> = self.rows.iter().take(ROWS_MAX).map(row).collect();
        match self.rows.len() {
            0 => "no rows".to_owned(),
            more if more > ROWS_MAX => {
                rows.push(format!("and {} more", more - ROWS_MAX));
                rows.join(" ")
            }
            _ => rows.join(" "),
        }
    }
}
