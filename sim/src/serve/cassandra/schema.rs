//! Keyspaces and tables. All servers have one schema, and know of a change at once.

use super::cql::{CreateTable, TableName};
use super::kinds::Kind;
use super::refusal::Refusal;
use bytes::Bytes;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a column is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    Partition,
    Clustering { descends: bool },
    Regular,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    pub name: String,
    pub kind: Kind,
    pub role: Role,
}

/// A table; its columns in the order in which `SELECT *` shows them: partition key, clustering key, the rest by name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    /// What its partitions are told apart by from those of other tables, and of its own before it was emptied.
    pub id: u32,
    pub keyspace: String,
    pub name: String,
    pub columns: Vec<Column>,
    pub partition_columns: usize,
    pub clustering_columns: usize,
    pub default_ttl: u32,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Keyspace {
    pub replication: Vec<(String, String)>,
    pub tables: BTreeMap<String, Arc<Table>>,
}

impl Keyspace {
    /// What no server takes: `KeyspaceAttributes.validate`, `AbstractReplicationStrategy`.
    fn check_replication(&self) -> Result<(), Refusal> {
        const STRATEGIES: [&str; 2] = ["SimpleStrategy", "NetworkTopologyStrategy"];
        let refuse = |why: String| Err(Refusal::configuration(why));
        if !self.replication.iter().any(|(key, _)| key == "class") {
            return refuse("Missing replication strategy class".to_owned());
        }
        let strategy = self.strategy();
        let name = strategy.rsplit('.').next().unwrap_or_default();
        if !STRATEGIES.contains(&name) {
            return refuse(format!("Unable to find replication strategy class '{strategy}'"));
        }
        for (_, factor) in self.replication.iter().filter(|(key, _)| key != "class") {
            match factor.parse::<i32>() {
                Ok(0..) => {}
                Ok(_) => return refuse(format!("Replication factor must be non-negative, found {factor}")),
                // As Java says it.
                Err(_) => return refuse(format!("For input string: \"{factor}\"")),
            }
        }
        Ok(())
    }

    /// The replication strategy's class, by its full name.
    pub fn strategy(&self) -> String {
        let class = self.replication.iter().find(|(key, _)| key == "class").map_or("", |(_, class)| class);
        if class.contains('.') { class.to_owned() } else { format!("org.apache.cassandra.locator.{class}") }
    }
}

/// What has changed, as clients are told it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SchemaChange {
    pub change: &'static str,
    pub keyspace: String,
    /// `None`: the keyspace itself.
    pub table: Option<String>,
}

#[derive(Clone, Default, Debug)]
pub struct Schema {
    pub keyspaces: BTreeMap<String, Keyspace>,
    /// How many times it has changed.
    pub version: u32,
    tables: u32,
}

/// Longer ones are no names (`SchemaConstants.NAME_LENGTH`).
const NAME_MAX: usize = 48;

impl Table {
    /// The place of a column.
    pub fn column(&self, name: &str) -> Result<usize, Refusal> {
        let at = self.columns.iter().position(|column| column.name == name);
        at.ok_or_else(|| {
            Refusal::invalid(format!("Undefined column name {name} in table {}.{}", self.keyspace, self.name))
        })
    }

    pub fn partition_key(&self) -> &[Column] {
        &self.columns[..self.partition_columns]
    }

    pub fn clustering_key(&self) -> &[Column] {
        &self.columns[self.partition_columns..self.key_columns()]
    }

    pub fn regular(&self) -> &[Column] {
        &self.columns[self.key_columns()..]
    }

    pub fn key_columns(&self) -> usize {
        self.partition_columns + self.clustering_columns
    }

    /// The number of a regular column in the simulator.
    pub fn number(&self, column: usize) -> u16 {
        u16::try_from(column + 1 - self.key_columns()).unwrap_or(u16::MAX - 1)
    }

    /// The bytes of a partition key (`CompositeType`, if it has several columns).
    pub fn key(&self, values: &[Bytes]) -> Bytes {
        match values {
            [one] => one.clone(),
            several => {
                let mut key = Vec::new();
                for value in several {
                    key.extend_from_slice(&u16::try_from(value.len()).unwrap_or(u16::MAX).to_be_bytes());
                    key.extend_from_slice(value);
                    key.push(0);
                }
                key.into()
            }
        }
    }

    /// The values of a partition key.
    pub fn values(&self, key: &Bytes) -> Vec<Bytes> {
        if self.partition_columns == 1 {
            return vec![key.clone()];
        }
        let mut rest = key.clone();
        let mut values = Vec::new();
        while rest.len() > 2 {
            let length = usize::from(u16::from_be_bytes([rest[0], rest[1]]));
            values.push(rest.slice(2..2 + length));
            rest = rest.slice(3 + length..);
        }
        values
    }

    /// Bytes in the order of the table's rows, of as many clustering columns as there are values.
    pub fn order(&self, values: &[Bytes]) -> Bytes {
        let mut order = Vec::new();
        for (column, value) in self.clustering_key().iter().zip(values) {
            let from = order.len();
            for byte in column.kind.order(value) {
                order.push(byte);
                if byte == 0 {
                    order.push(0xff);
                }
            }
            order.extend_from_slice(&[0, 1]);
            if column.role == (Role::Clustering { descends: true }) {
                order[from..].iter_mut().for_each(|byte| *byte = !*byte);
            }
        }
        order.into()
    }
}

impl Schema {
    /// The table of this name, in the keyspace that is in use if none is named.
    pub fn table(&self, name: &TableName, used: Option<&str>) -> Result<Arc<Table>, Refusal> {
        let keyspace = keyspace_of(name, used)?;
        let Some(found) = self.keyspaces.get(keyspace) else {
            return Err(Refusal::invalid(format!("keyspace {keyspace} does not exist")));
        };
        let table = found.tables.get(&name.table).cloned();
        table.ok_or_else(|| Refusal::invalid(format!("table {} does not exist", name.table)))
    }

    /// A keyspace is made. `None`: it was there.
    pub fn create_keyspace(
        &mut self,
        name: String,
        unless_there: bool,
        replication: Vec<(String, String)>,
    ) -> Result<Option<SchemaChange>, Refusal> {
        check_name("keyspace", &name)?;
        if is_system(&name) {
            return Err(Refusal::invalid(format!("{name} keyspace is not user-modifiable")));
        }
        if self.keyspaces.contains_key(&name) {
            return match unless_there {
                true => Ok(None),
                false => Err(Refusal::Exists { keyspace: name, table: String::new() }),
            };
        }
        let keyspace = Keyspace { replication, tables: BTreeMap::new() };
        keyspace.check_replication()?;
        self.version += 1;
        self.keyspaces.insert(name.clone(), keyspace);
        Ok(Some(SchemaChange { change: "CREATED", keyspace: name, table: None }))
    }

    /// A table is made. `None`: it was there.
    pub fn create_table(
        &mut self,
        made: &CreateTable,
        used: Option<&str>,
        default_ttl: u32,
    ) -> Result<Option<SchemaChange>, Refusal> {
        let keyspace = keyspace_of(&made.table, used)?.to_owned();
        let name = made.table.table.clone();
        check_name("table", &name)?;
        let id = self.tables + 1;
        let Some(found) = self.keyspaces.get_mut(&keyspace) else {
            return Err(Refusal::invalid(format!("Keyspace '{keyspace}' doesn't exist")));
        };
        if found.tables.contains_key(&name) {
            return match made.unless_there {
                true => Ok(None),
                false => Err(Refusal::Exists { keyspace, table: name }),
            };
        }
        let table = table_of(made, id, keyspace.clone(), default_ttl)?;
        found.tables.insert(name.clone(), Arc::new(table));
        self.tables = id;
        self.version += 1;
        Ok(Some(SchemaChange { change: "CREATED", keyspace, table: Some(name) }))
    }

    pub fn drop_keyspace(&mut self, name: String, if_there: bool) -> Result<Option<SchemaChange>, Refusal> {
        if self.keyspaces.remove(&name).is_none() {
            return match if_there {
                true => Ok(None),
                false => Err(Refusal::invalid(format!("Keyspace '{name}' doesn't exist"))),
            };
        }
        self.version += 1;
        Ok(Some(SchemaChange { change: "DROPPED", keyspace: name, table: None }))
    }

    pub fn drop_table(
        &mut self,
        name: &TableName,
        used: Option<&str>,
        if_there: bool,
    ) -> Result<Option<SchemaChange>, Refusal> {
        let keyspace = keyspace_of(name, used)?.to_owned();
        let found = self.keyspaces.get_mut(&keyspace);
        if found.and_then(|found| found.tables.remove(&name.table)).is_none() {
            return match if_there {
                true => Ok(None),
                false => Err(Refusal::invalid(format!("Table '{keyspace}.{}' doesn't exist", name.table))),
            };
        }
        self.version += 1;
        Ok(Some(SchemaChange { change: "DROPPED", keyspace, table: Some(name.table.clone()) }))
    }

    /// What is in the table is in it no more: it has other partitions from now on.
    pub fn truncate(&mut self, name: &TableName, used: Option<&str>) -> Result<(), Refusal> {
        let table = self.table(name, used)?;
        self.tables += 1;
        let emptied = Table { id: self.tables, ..(*table).clone() };
        if let Some(keyspace) = self.keyspaces.get_mut(&table.keyspace) {
            keyspace.tables.insert(table.name.clone(), Arc::new(emptied));
        }
        Ok(())
    }
}

fn keyspace_of<'a>(name: &'a TableName, used: Option<&'a str>) -> Result<&'a str, Refusal> {
    let named = name.keyspace.as_deref().or(used);
    named.ok_or_else(|| {
        Refusal::invalid(
            "No keyspace has been specified. USE a keyspace, or explicitly specify keyspace.tablename",
        )
    })
}

/// Whether the keyspace is one of the server's own.
pub fn is_system(keyspace: &str) -> bool {
    matches!(
        keyspace,
        "system"
            | "system_schema"
            | "system_auth"
            | "system_distributed"
            | "system_traces"
            | "system_views"
            | "system_virtual_schema"
    )
}

fn check_name(what: &str, name: &str) -> Result<(), Refusal> {
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') && !name.is_empty();
    if !is_name || name.len() > NAME_MAX {
        return Err(Refusal::invalid(format!(
            "{what} name must not be empty, more than {NAME_MAX} characters long, or contain non-alphanumeric-underscore characters (got \"{name}\")"
        )));
    }
    Ok(())
}

fn table_of(made: &CreateTable, id: u32, keyspace: String, default_ttl: u32) -> Result<Table, Refusal> {
    let name = made.table.table.clone();
    if made.partition_key.is_empty() {
        return Err(Refusal::invalid("No PRIMARY KEY specifed for table (exactly one required)"));
    }
    let kind = |of: &String| {
        let mut named = made.columns.iter().filter(|(name, _)| name == of);
        match (named.next(), named.next()) {
            (Some((_, kind)), None) => Kind::named(kind),
            (Some(_), Some(_)) => {
                Err(Refusal::invalid(format!("Duplicate column '{of}' declaration for table '{name}'")))
            }
            (None, _) => Err(Refusal::invalid(format!(
                "Unknown column '{of}' referenced in PRIMARY KEY for table '{name}'"
            ))),
        }
    };
    let mut columns: Vec<Column> = Vec::new();
    for of in &made.partition_key {
        columns.push(Column { name: of.clone(), kind: kind(of)?, role: Role::Partition });
    }
    for of in &made.clustering_key {
        let role = Role::Clustering { descends: made.descending.contains(of) };
        columns.push(Column { name: of.clone(), kind: kind(of)?, role });
    }
    if let Some(of) = made.descending.iter().find(|of| !made.clustering_key.contains(of)) {
        return Err(Refusal::invalid(format!(
            "Only clustering key columns can be defined in CLUSTERING ORDER directive: {of}"
        )));
    }
    let is_key = |of: &str| made.partition_key.iter().chain(&made.clustering_key).any(|name| name == of);
    if made
        .partition_key
        .iter()
        .chain(&made.clustering_key)
        .enumerate()
        .any(|(at, of)| columns[..at].iter().any(|column| column.name == *of))
    {
        return Err(Refusal::invalid("Duplicate columns in the PRIMARY KEY"));
    }
    let mut regular: Vec<Column> = Vec::new();
    for (of, _) in made.columns.iter().filter(|(of, _)| !is_key(of)) {
        regular.push(Column { name: of.clone(), kind: kind(of)?, role: Role::Regular });
    }
    regular.sort_by(|one, two| one.name.cmp(&two.name));
    columns.append(&mut regular);
    Ok(Table {
        id,
        keyspace,
        name,
        columns,
        partition_columns: made.partition_key.len(),
        clustering_columns: made.clustering_key.len(),
        default_ttl,
    })
}

#[cfg(test)]
mod tests {
    use super::super::cql::{Statement, parse};
    use super::*;

    fn table(text: &str) -> Result<Table, Refusal> {
        match parse(text) {
            Ok((Statement::CreateTable(made), _)) => table_of(&made, 1, "k".to_owned(), 0),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn columns_are_in_the_order_in_which_they_are_shown() {
        let made = table("CREATE TABLE t (z int, c text, b text, a text, PRIMARY KEY ((b, c), a))")
            .expect("a table");
        let names: Vec<&str> = made.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["b", "c", "a", "z"]);
        assert_eq!(made.number(3), 1);
        let values = [Bytes::from("x"), Bytes::from("")];
        assert_eq!(made.values(&made.key(&values)), values);
    }

    #[test]
    fn rows_are_ordered_column_by_column_up_or_down() {
        let made = table(
            "CREATE TABLE t (a int, b text, c int, PRIMARY KEY (a, b, c)) WITH CLUSTERING ORDER BY (b ASC, c DESC)",
        );
        let made = made.expect("a table");
        let order = |b: &str, c: i32| {
            made.order(&[Bytes::copy_from_slice(b.as_bytes()), Bytes::copy_from_slice(&c.to_be_bytes())])
        };
        let all =
            [order("", 0), order("a", 7), order("a", -7), order("a\0", 9), order("a\u{1}", 9), order("b", 0)];
        assert!(all.is_sorted_by(|one, two| one < two));
        assert!(made.order(&[Bytes::from("a")]) < all[1], "a beginning is before all that begins so");
    }

    #[test]
    fn a_table_without_a_key_or_with_a_wrong_one_is_refused() {
        for (text, why) in [
            ("CREATE TABLE t (a int)", "No PRIMARY KEY"),
            ("CREATE TABLE t (a int, PRIMARY KEY (b))", "Unknown column 'b'"),
            ("CREATE TABLE t (a int, a text, PRIMARY KEY (a))", "Duplicate column 'a'"),
            ("CREATE TABLE t (a int, b int, PRIMARY KEY (a, a))", "Duplicate columns"),
            ("CREATE TABLE t (a set<int> PRIMARY KEY)", "not served: the type set<int>"),
        ] {
            match table(text) {
                Err(refusal) => assert!(refusal.text().contains(why), "{text}: {}", refusal.text()),
                Ok(made) => panic!("{text}: {made:?}"),
            }
        }
    }
}
