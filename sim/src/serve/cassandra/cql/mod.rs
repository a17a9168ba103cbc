//! CQL, as much of it as is served: texts to statements. What is not known is refused, never passed over.

mod parse;
mod tokens;

pub use parse::parse;

/// Something in a statement that is a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Term {
    /// The value comes with the request: `?`, or `:name`. Numbered in their order.
    Marker(usize),
    Literal(Literal),
    Call(String, Vec<Term>),
}

/// A value as it is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Literal {
    Text(String),
    Integer(String),
    Float(String),
    Uuid(String),
    Hex(String),
    Boolean(bool),
    Null,
}

/// A table, in the keyspace of the connection if none is named.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableName {
    pub keyspace: Option<String>,
    pub table: String,
}

/// `USING TIMESTAMP … AND TTL …`.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Using {
    pub timestamp: Option<Term>,
    pub ttl: Option<Term>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
}

impl Operator {
    /// How one is written that compares which value is larger.
    pub fn sign_of_comparison(self) -> Option<&'static str> {
        match self {
            Operator::Less => Some("<"),
            Operator::LessOrEqual => Some("<="),
            Operator::Greater => Some(">"),
            Operator::GreaterOrEqual => Some(">="),
            Operator::Equal | Operator::NotEqual | Operator::In => None,
        }
    }
}

/// `column operator term`; with `IN`, any number of terms.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Relation {
    pub column: String,
    pub operator: Operator,
    pub terms: Vec<Term>,
}

/// On what a lightweight transaction depends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Condition {
    NotExists,
    Exists,
    Columns(Vec<Relation>),
}

/// What a `SELECT` shows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Selector {
    Column(String),
    WriteTime(String),
    Ttl(String),
    Count,
    /// A function that takes no column.
    Call(String),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Select {
    pub table: TableName,
    /// With the name that it is given; none: all columns.
    pub selectors: Vec<(Selector, Option<String>)>,
    pub relations: Vec<Relation>,
    /// A clustering column, and whether it descends.
    pub order: Vec<(String, bool)>,
    pub limit: Option<Term>,
    pub filters: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Insert {
    pub table: TableName,
    pub values: Vec<(String, Term)>,
    pub using: Using,
    pub condition: Option<Condition>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Update {
    pub table: TableName,
    pub values: Vec<(String, Term)>,
    pub using: Using,
    pub relations: Vec<Relation>,
    pub condition: Option<Condition>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Delete {
    pub table: TableName,
    /// None: the row, or the partition.
    pub columns: Vec<String>,
    pub using: Using,
    pub relations: Vec<Relation>,
    pub condition: Option<Condition>,
}

/// A statement that changes rows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change {
    Insert(Insert),
    Update(Update),
    Delete(Delete),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CreateTable {
    pub table: TableName,
    pub unless_there: bool,
    /// Name and type.
    pub columns: Vec<(String, String)>,
    pub partition_key: Vec<String>,
    pub clustering_key: Vec<String>,
    /// Clustering columns that descend.
    pub descending: Vec<String>,
    /// `default_time_to_live`.
    pub default_ttl: Option<Term>,
    /// Options that are taken and change nothing.
    pub ignored: Vec<String>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Statement {
    Select(Select),
    Change(Change),
    Batch { is_logged: bool, using: Using, changes: Vec<Change> },
    Use(String),
    CreateKeyspace { name: String, unless_there: bool, replication: Vec<(String, String)> },
    CreateTable(CreateTable),
    DropKeyspace { name: String, if_there: bool },
    DropTable { table: TableName, if_there: bool },
    Truncate(TableName),
}

impl Change {
    pub fn table(&self) -> &TableName {
        match self {
            Change::Insert(insert) => &insert.table,
            Change::Update(update) => &update.table,
            Change::Delete(delete) => &delete.table,
        }
    }

    pub fn using(&self) -> &Using {
        match self {
            Change::Insert(insert) => &insert.using,
            Change::Update(update) => &update.using,
            Change::Delete(delete) => &delete.using,
        }
    }

    pub fn condition(&self) -> Option<&Condition> {
        match self {
            Change::Insert(insert) => insert.condition.as_ref(),
            Change::Update(update) => update.condition.as_ref(),
            Change::Delete(delete) => delete.condition.as_ref(),
        }
    }
}
