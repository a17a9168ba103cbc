//! Statements, read from left to right (`Parser.g`).

use super::tokens::{Token, tokens};
use super::{
    Change, Condition, CreateTable, Delete, Insert, Literal, Operator, Relation, Select, Selector, Statement,
    TableName, Term, Update, Using,
};
use crate::serve::cassandra::refusal::Refusal;

/// A statement, and the names of its markers: those of `?` are not there.
///
/// # Errors
/// No statement of CQL, or one that is not served.
pub fn parse(text: &str) -> Result<(Statement, Vec<Option<String>>), Refusal> {
    let tokens = tokens(text).map_err(Refusal::Syntax)?;
    let mut parser = Parser { tokens, at: 0, markers: Vec::new(), depth: 0 };
    let statement = parser.statement()?;
    while parser.takes_sign(";") {}
    match parser.peek() {
        None => Ok((statement, parser.markers)),
        Some(_) => Err(parser.unexpected("the end of the statement")),
    }
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    markers: Vec<Option<String>>,
    /// Inside of how many brackets it is.
    depth: usize,
}

/// Nobody nests functions or types deeper.
const DEPTH_MAX: usize = 32;

type Parsed<T> = Result<T, Refusal>;

/// Words that are no names without quotes (`ReservedKeywords.java`), as far as one would be taken for a name here.
const RESERVED: [&str; 56] = [
    "add",
    "allow",
    "alter",
    "and",
    "apply",
    "asc",
    "authorize",
    "batch",
    "begin",
    "by",
    "create",
    "default",
    "delete",
    "desc",
    "describe",
    "drop",
    "entries",
    "execute",
    "from",
    "full",
    "grant",
    "if",
    "in",
    "index",
    "insert",
    "into",
    "is",
    "keyspace",
    "limit",
    "mbean",
    "modify",
    "not",
    "null",
    "of",
    "on",
    "or",
    "order",
    "primary",
    "rename",
    "replace",
    "revoke",
    "schema",
    "select",
    "set",
    "table",
    "to",
    "token",
    "truncate",
    "unlogged",
    "unset",
    "update",
    "use",
    "using",
    "view",
    "where",
    "with",
];

/// Options of tables that change nothing which a client can see here.
const IGNORED_OPTIONS: [&str; 16] = [
    "additional_write_policy",
    "bloom_filter_fp_chance",
    "caching",
    "cdc",
    "comment",
    "compaction",
    "compression",
    "crc_check_chance",
    "dclocal_read_repair_chance",
    "gc_grace_seconds",
    "max_index_interval",
    "memtable_flush_period_in_ms",
    "min_index_interval",
    "read_repair",
    "read_repair_chance",
    "speculative_retry",
];

/// What begins statements that the real server has, and this one has not.
const OTHER_STATEMENTS: [&str; 6] = ["alter", "grant", "revoke", "list", "describe", "desc"];

impl Parser {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn unexpected(&self, wanted: &str) -> Refusal {
        let found = match self.peek() {
            None => "the end".to_owned(),
            Some(Token::Word(word)) => format!("'{word}'"),
            Some(Token::Quoted(name)) => format!("\"{name}\""),
            Some(Token::Text(text)) => format!("'{text}'"),
            Some(Token::Integer(text) | Token::Float(text) | Token::Uuid(text)) => text.clone(),
            Some(Token::Hex(text)) => format!("0x{text}"),
            Some(Token::Sign(sign)) => format!("'{sign}'"),
        };
        Refusal::Syntax(format!("line 1: expected {wanted}, and found {found}"))
    }

    fn takes_sign(&mut self, sign: &str) -> bool {
        let is_there = matches!(self.peek(), Some(Token::Sign(found)) if *found == sign);
        self.at += usize::from(is_there);
        is_there
    }

    fn sign(&mut self, sign: &str) -> Parsed<()> {
        if self.takes_sign(sign) { Ok(()) } else { Err(self.unexpected(&format!("'{sign}'"))) }
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Some(Token::Word(found)) if found == word)
    }

    fn takes(&mut self, words: &str) -> bool {
        let is_there = words.split(' ').enumerate().all(|(after, word)| {
            matches!(self.tokens.get(self.at + after), Some(Token::Word(found)) if found == word)
        });
        if is_there {
            self.at += words.split(' ').count();
        }
        is_there
    }

    fn word(&mut self, words: &str) -> Parsed<()> {
        if self.takes(words) { Ok(()) } else { Err(self.unexpected(&words.to_uppercase())) }
    }

    fn name(&mut self) -> Parsed<String> {
        let name = match self.peek() {
            Some(Token::Quoted(name)) => name.clone(),
            Some(Token::Word(name)) if !RESERVED.contains(&name.as_str()) => name.clone(),
            // The one reserved word that is a function's name, too.
            Some(Token::Word(name)) if name == "token" && self.next_is_sign("(") => name.clone(),
            _ => return Err(self.unexpected("a name")),
        };
        self.at += 1;
        Ok(name)
    }

    fn list<T>(&mut self, mut read: impl FnMut(&mut Parser) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut all = vec![read(self)?];
        while self.takes_sign(",") {
            all.push(read(self)?);
        }
        Ok(all)
    }

    /// Reads what is nested.
    fn deeper<T>(&mut self, read: impl FnOnce(&mut Parser) -> Parsed<T>) -> Parsed<T> {
        if self.depth == DEPTH_MAX {
            return Err(Refusal::not_served(format!("what is nested deeper than {DEPTH_MAX} times")));
        }
        self.depth += 1;
        let read = read(self);
        self.depth -= 1;
        read
    }

    fn in_brackets<T>(&mut self, read: impl FnMut(&mut Parser) -> Parsed<T>) -> Parsed<Vec<T>> {
        self.sign("(")?;
        let all = self.list(read)?;
        self.sign(")")?;
        Ok(all)
    }

    fn table_name(&mut self) -> Parsed<TableName> {
        let first = self.name()?;
        match self.takes_sign(".") {
            true => Ok(TableName { keyspace: Some(first), table: self.name()? }),
            false => Ok(TableName { keyspace: None, table: first }),
        }
    }

    fn statement(&mut self) -> Parsed<Statement> {
        let Some(Token::Word(first)) = self.peek().cloned() else {
            return Err(self.unexpected("a statement"));
        };
        match first.as_str() {
            "select" => self.select().map(Statement::Select),
            "insert" | "update" | "delete" => self.change().map(Statement::Change),
            "begin" => self.batch(),
            "use" => {
                self.at += 1;
                self.name().map(Statement::Use)
            }
            "create" => self.create(),
            "drop" => self.drop(),
            "truncate" => {
                self.at += 1;
                self.takes("table");
                self.table_name().map(Statement::Truncate)
            }
            other if OTHER_STATEMENTS.contains(&other) => Err(Refusal::not_served(other.to_uppercase())),
            _ => Err(self.unexpected("a statement")),
        }
    }

    fn select(&mut self) -> Parsed<Select> {
        self.word("select")?;
        for what in ["distinct", "json"] {
            if self.is_word(what) && !self.next_is_sign(",") && !self.next_is_word("from") {
                return Err(Refusal::not_served(format!("SELECT {}", what.to_uppercase())));
            }
        }
        let selectors = if self.takes_sign("*") { Vec::new() } else { self.list(Parser::selector)? };
        self.word("from")?;
        let table = self.table_name()?;
        let relations = if self.takes("where") { self.relations()? } else { Vec::new() };
        if self.is_word("group") {
            return Err(Refusal::not_served("GROUP BY"));
        }
        let mut order = Vec::new();
        if self.takes("order by") {
            order = self.list(|parser| {
                let column = parser.name()?;
                let descends = parser.takes("desc");
                if !descends {
                    parser.takes("asc");
                }
                Ok((column, descends))
            })?;
        }
        if self.is_word("per") {
            return Err(Refusal::not_served("PER PARTITION LIMIT"));
        }
        let limit = if self.takes("limit") { Some(self.integer()?) } else { None };
        let filters = self.takes("allow filtering");
        Ok(Select { table, selectors, relations, order, limit, filters })
    }

    fn next_is_sign(&self, sign: &str) -> bool {
        matches!(self.tokens.get(self.at + 1), Some(Token::Sign(found)) if *found == sign)
    }

    fn next_is_word(&self, word: &str) -> bool {
        matches!(self.tokens.get(self.at + 1), Some(Token::Word(found)) if found == word)
    }

    fn selector(&mut self) -> Parsed<(Selector, Option<String>)> {
        let name = self.name()?;
        let selector = match self.takes_sign("(") {
            false => Selector::Column(name),
            true => {
                let selector = match name.as_str() {
                    "writetime" => Selector::WriteTime(self.name()?),
                    "ttl" => Selector::Ttl(self.name()?),
                    "count" if self.takes_sign("*") => Selector::Count,
                    "count" if matches!(self.peek(), Some(Token::Integer(one)) if one == "1") => {
                        self.at += 1;
                        Selector::Count
                    }
                    _ if matches!(self.peek(), Some(Token::Sign(")"))) => Selector::Call(name),
                    _ => return Err(Refusal::not_served(format!("the function {name} in SELECT"))),
                };
                self.sign(")")?;
                selector
            }
        };
        let alias = if self.takes("as") { Some(self.name()?) } else { None };
        Ok((selector, alias))
    }

    fn relations(&mut self) -> Parsed<Vec<Relation>> {
        let mut all = vec![self.relation()?];
        while self.takes("and") {
            all.push(self.relation()?);
        }
        Ok(all)
    }

    fn relation(&mut self) -> Parsed<Relation> {
        if matches!(self.peek(), Some(Token::Sign("("))) {
            return Err(Refusal::not_served("relations of several columns at once"));
        }
        if self.is_word("token") && self.next_is_sign("(") {
            return Err(Refusal::not_served("token() in WHERE"));
        }
        let column = self.name()?;
        if matches!(self.peek(), Some(Token::Sign("["))) {
            return Err(Refusal::not_served("elements of collections"));
        }
        if self.takes("in") {
            if matches!(self.peek(), Some(Token::Sign("?" | ":"))) {
                return Err(Refusal::not_served("IN with one marker for a list: write IN (?, ?)"));
            }
            self.sign("(")?;
            let terms = if self.takes_sign(")") {
                Vec::new()
            } else {
                let terms = self.list(Parser::term)?;
                self.sign(")")?;
                terms
            };
            return Ok(Relation { column, operator: Operator::In, terms });
        }
        let signs = [
            ("=", Operator::Equal),
            ("!=", Operator::NotEqual),
            ("<=", Operator::LessOrEqual),
            (">=", Operator::GreaterOrEqual),
            ("<", Operator::Less),
            (">", Operator::Greater),
        ];
        for (sign, operator) in signs {
            if self.takes_sign(sign) {
                return Ok(Relation { column, operator, terms: vec![self.term()?] });
            }
        }
        for word in ["contains", "like", "is"] {
            if self.is_word(word) {
                return Err(Refusal::not_served(word.to_uppercase()));
            }
        }
        Err(self.unexpected("an operator"))
    }

    fn term(&mut self) -> Parsed<Term> {
        let Some(token) = self.peek().cloned() else { return Err(self.unexpected("a value")) };
        self.at += 1;
        let literal = match token {
            Token::Sign("?") => {
                self.markers.push(None);
                return Ok(Term::Marker(self.markers.len() - 1));
            }
            Token::Sign(":") => {
                let name = self.name()?;
                self.markers.push(Some(name));
                return Ok(Term::Marker(self.markers.len() - 1));
            }
            Token::Sign("-") => match self.peek().cloned() {
                Some(Token::Integer(digits)) => {
                    self.at += 1;
                    Literal::Integer(format!("-{digits}"))
                }
                Some(Token::Float(digits)) => {
                    self.at += 1;
                    Literal::Float(format!("-{digits}"))
                }
                _ => return Err(self.unexpected("a number")),
            },
            Token::Sign("[" | "{") => return Err(Refusal::not_served("collections")),
            Token::Sign("(") => return Err(Refusal::not_served("tuples and casts")),
            Token::Text(text) => Literal::Text(text),
            Token::Integer(digits) => Literal::Integer(digits),
            Token::Float(digits) => Literal::Float(digits),
            Token::Uuid(text) => Literal::Uuid(text),
            Token::Hex(text) => Literal::Hex(text),
            Token::Word(word) => match word.as_str() {
                "true" => Literal::Boolean(true),
                "false" => Literal::Boolean(false),
                "null" => Literal::Null,
                "nan" | "infinity" => Literal::Float(word),
                _ if self.takes_sign("(") => {
                    let arguments = match self.takes_sign(")") {
                        true => Vec::new(),
                        false => {
                            let arguments = self.deeper(|parser| parser.list(Parser::term))?;
                            self.sign(")")?;
                            arguments
                        }
                    };
                    return Ok(Term::Call(word, arguments));
                }
                _ => {
                    self.at -= 1;
                    return Err(self.unexpected("a value"));
                }
            },
            Token::Quoted(_) | Token::Sign(_) => {
                self.at -= 1;
                return Err(self.unexpected("a value"));
            }
        };
        Ok(Term::Literal(literal))
    }

    /// `intValue`: a number that is written out, or a marker.
    fn integer(&mut self) -> Parsed<Term> {
        let from = self.at;
        let term = self.term()?;
        match term {
            Term::Marker(_) | Term::Literal(Literal::Integer(_)) => Ok(term),
            Term::Literal(_) | Term::Call(..) => {
                self.at = from;
                Err(self.unexpected("a whole number"))
            }
        }
    }

    fn using(&mut self) -> Parsed<Using> {
        let mut using = Using::default();
        if !self.takes("using") {
            return Ok(using);
        }
        loop {
            let place = match () {
                () if self.takes("timestamp") => &mut using.timestamp,
                () if self.takes("ttl") => &mut using.ttl,
                () => return Err(self.unexpected("TIMESTAMP or TTL")),
            };
            let term = self.integer()?;
            // Of two the last one counts.
            *place = Some(term);
            if !self.takes("and") {
                return Ok(using);
            }
        }
    }

    fn change(&mut self) -> Parsed<Change> {
        match self.peek() {
            Some(Token::Word(word)) if word == "insert" => self.insert().map(Change::Insert),
            Some(Token::Word(word)) if word == "update" => self.update().map(Change::Update),
            Some(Token::Word(word)) if word == "delete" => self.delete().map(Change::Delete),
            _ => Err(self.unexpected("INSERT, UPDATE or DELETE")),
        }
    }

    fn insert(&mut self) -> Parsed<Insert> {
        self.word("insert into")?;
        let table = self.table_name()?;
        if self.is_word("json") {
            return Err(Refusal::not_served("INSERT JSON"));
        }
        let names = self.in_brackets(Parser::name)?;
        self.word("values")?;
        let terms = self.in_brackets(Parser::term)?;
        if names.len() != terms.len() {
            return Err(Refusal::invalid("Unmatched column names/values"));
        }
        let condition = self.takes("if not exists").then_some(Condition::NotExists);
        let using = self.using()?;
        Ok(Insert { table, values: names.into_iter().zip(terms).collect(), using, condition })
    }

    fn update(&mut self) -> Parsed<Update> {
        self.word("update")?;
        let table = self.table_name()?;
        let using = self.using()?;
        self.word("set")?;
        let values = self.list(|parser| {
            let column = parser.name()?;
            if matches!(parser.peek(), Some(Token::Sign("[" | "+" | "-"))) {
                return Err(Refusal::not_served("SET of an element, or by an amount"));
            }
            parser.sign("=")?;
            let plus = matches!(parser.tokens.get(parser.at + 1), Some(Token::Sign("+" | "-")));
            if plus {
                return Err(Refusal::not_served("counters, and sums of collections"));
            }
            Ok((column, parser.term()?))
        })?;
        self.word("where")?;
        let relations = self.relations()?;
        let condition = self.condition()?;
        Ok(Update { table, values, using, relations, condition })
    }

    fn delete(&mut self) -> Parsed<Delete> {
        self.word("delete")?;
        let columns = if self.is_word("from") { Vec::new() } else { self.list(Parser::name)? };
        self.word("from")?;
        let table = self.table_name()?;
        let using = self.using()?;
        if using.ttl.is_some() {
            return Err(Refusal::Syntax("line 1: a DELETE takes no TTL".to_owned()));
        }
        self.word("where")?;
        let relations = self.relations()?;
        let condition = self.condition()?;
        Ok(Delete { table, columns, using, relations, condition })
    }

    fn condition(&mut self) -> Parsed<Option<Condition>> {
        if !self.takes("if") {
            return Ok(None);
        }
        if self.takes("exists") {
            return Ok(Some(Condition::Exists));
        }
        self.relations().map(|relations| Some(Condition::Columns(relations)))
    }

    fn batch(&mut self) -> Parsed<Statement> {
        self.word("begin")?;
        if self.is_word("counter") {
            return Err(Refusal::not_served("batches of counters"));
        }
        let is_logged = !self.takes("unlogged");
        if is_logged {
            self.takes("logged");
        }
        self.word("batch")?;
        let using = self.using()?;
        let mut changes = Vec::new();
        while !self.takes("apply batch") {
            changes.push(self.change()?);
            self.takes_sign(";");
        }
        Ok(Statement::Batch { is_logged, using, changes })
    }

    fn create(&mut self) -> Parsed<Statement> {
        self.word("create")?;
        if self.takes("keyspace") || self.takes("schema") {
            return self.create_keyspace();
        }
        if self.takes("table") || self.takes("columnfamily") {
            return self.create_table().map(Statement::CreateTable);
        }
        match self.peek() {
            Some(Token::Word(what)) => Err(Refusal::not_served(format!("CREATE {}", what.to_uppercase()))),
            _ => Err(self.unexpected("KEYSPACE or TABLE")),
        }
    }

    fn create_keyspace(&mut self) -> Parsed<Statement> {
        let unless_there = self.takes("if not exists");
        let name = self.name()?;
        self.word("with")?;
        let mut replication = Vec::new();
        loop {
            let option = self.name()?;
            self.sign("=")?;
            match option.as_str() {
                "replication" => replication = self.map()?,
                "durable_writes" => {
                    self.term()?;
                }
                other => {
                    return Err(Refusal::Syntax(format!("Unknown property '{other}'")));
                }
            }
            if !self.takes("and") {
                break;
            }
        }
        Ok(Statement::CreateKeyspace { name, unless_there, replication })
    }

    fn map(&mut self) -> Parsed<Vec<(String, String)>> {
        self.sign("{")?;
        if self.takes_sign("}") {
            return Ok(Vec::new());
        }
        let entries = self.list(|parser| {
            let key = parser.plain()?;
            parser.sign(":")?;
            Ok((key, parser.plain()?))
        })?;
        self.sign("}")?;
        Ok(entries)
    }

    /// A text, or a number as text.
    fn plain(&mut self) -> Parsed<String> {
        let text = match self.peek() {
            Some(Token::Text(text) | Token::Integer(text) | Token::Float(text) | Token::Word(text)) => {
                text.clone()
            }
            _ => return Err(self.unexpected("a text")),
        };
        self.at += 1;
        Ok(text)
    }

    fn create_table(&mut self) -> Parsed<CreateTable> {
        let unless_there = self.takes("if not exists");
        let table = self.table_name()?;
        let mut made = CreateTable {
            table,
            unless_there,
            columns: Vec::new(),
            partition_key: Vec::new(),
            clustering_key: Vec::new(),
            descending: Vec::new(),
            default_ttl: None,
            ignored: Vec::new(),
        };
        self.sign("(")?;
        loop {
            if self.takes("primary key") {
                if !made.partition_key.is_empty() {
                    return Err(Refusal::invalid("Multiple PRIMARY KEY specified"));
                }
                self.sign("(")?;
                made.partition_key = match matches!(self.peek(), Some(Token::Sign("("))) {
                    true => self.in_brackets(Parser::name)?,
                    false => vec![self.name()?],
                };
                if self.takes_sign(",") {
                    made.clustering_key = self.list(Parser::name)?;
                }
                self.sign(")")?;
            } else {
                let name = self.name()?;
                let kind = self.kind()?;
                if self.is_word("static") {
                    return Err(Refusal::not_served("static columns"));
                }
                if self.takes("primary key") {
                    if !made.partition_key.is_empty() {
                        return Err(Refusal::invalid("Multiple PRIMARY KEY specified"));
                    }
                    made.partition_key = vec![name.clone()];
                }
                made.columns.push((name, kind));
            }
            if !self.takes_sign(",") {
                break;
            }
        }
        self.sign(")")?;
        if self.takes("with") {
            loop {
                self.table_option(&mut made)?;
                if !self.takes("and") {
                    break;
                }
            }
        }
        Ok(made)
    }

    /// A type, as it is written.
    fn kind(&mut self) -> Parsed<String> {
        let mut kind = match self.peek() {
            Some(Token::Text(class)) => {
                return Err(Refusal::not_served(format!("the type '{class}'")));
            }
            // A reserved word, which names a type all the same.
            Some(Token::Word(set)) if set == "set" && self.next_is_sign("<") => {
                self.at += 1;
                "set".to_owned()
            }
            _ => self.name()?,
        };
        if self.takes_sign("<") {
            let inside = self.deeper(|parser| parser.list(Parser::kind))?;
            self.sign(">")?;
            kind = format!("{kind}<{}>", inside.join(", "));
        }
        Ok(kind)
    }

    fn table_option(&mut self, made: &mut CreateTable) -> Parsed<()> {
        if self.takes("compact storage") {
            return Err(Refusal::not_served("COMPACT STORAGE"));
        }
        if self.takes("clustering order by") {
            let order = self.in_brackets(|parser| {
                let column = parser.name()?;
                let descends = parser.takes("desc");
                if !descends {
                    parser.word("asc")?;
                }
                Ok((column, descends))
            })?;
            made.descending =
                order.into_iter().filter(|(_, descends)| *descends).map(|(column, _)| column).collect();
            return Ok(());
        }
        let option = self.name()?;
        self.sign("=")?;
        match option.as_str() {
            "default_time_to_live" => made.default_ttl = Some(self.term()?),
            ignored if ignored == "id" || IGNORED_OPTIONS.contains(&ignored) => {
                match self.peek() {
                    Some(Token::Sign("{")) => {
                        self.map()?;
                    }
                    _ => {
                        self.term()?;
                    }
                }
                made.ignored.push(option);
            }
            other => return Err(Refusal::Syntax(format!("Unknown property '{other}'"))),
        }
        Ok(())
    }

    fn drop(&mut self) -> Parsed<Statement> {
        self.word("drop")?;
        if self.takes("keyspace") || self.takes("schema") {
            let if_there = self.takes("if exists");
            return Ok(Statement::DropKeyspace { name: self.name()?, if_there });
        }
        if self.takes("table") || self.takes("columnfamily") {
            let if_there = self.takes("if exists");
            return Ok(Statement::DropTable { table: self.table_name()?, if_there });
        }
        match self.peek() {
            Some(Token::Word(what)) => Err(Refusal::not_served(format!("DROP {}", what.to_uppercase()))),
            _ => Err(self.unexpected("KEYSPACE or TABLE")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn refused(text: &str) -> String {
        match parse(text) {
            Ok(parsed) => panic!("{text}: {parsed:?}"),
            Err(Refusal::Syntax(why) | Refusal::Invalid(why)) => why,
            Err(other) => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn the_statements_of_locks_are_read() {
        for text in [
            "INSERT INTO locks (name, owner) VALUES ('a', ?) IF NOT EXISTS USING TTL 30",
            "UPDATE ks.locks USING TTL ? AND TIMESTAMP 5 SET owner = :me WHERE name = 'a' IF owner = :me AND fence != null",
            "DELETE FROM locks WHERE name = ? IF owner = ?;",
            "DELETE owner FROM locks USING TIMESTAMP 7 WHERE name = 'a'",
            "SELECT name, WRITETIME(owner) AS w, TTL(owner) FROM q WHERE key = 'a' AND name >= 'x' ORDER BY name DESC LIMIT 1",
            "BEGIN UNLOGGED BATCH INSERT INTO t (a) VALUES (1); DELETE FROM t WHERE a = 2; APPLY BATCH",
            "CREATE TABLE IF NOT EXISTS ks.t (a text, b timeuuid, c blob, PRIMARY KEY ((a), b)) WITH CLUSTERING ORDER BY (b DESC) AND gc_grace_seconds = 1",
            "create keyspace k with replication = {'class': 'SimpleStrategy', 'replication_factor': 3} and durable_writes = true",
            "SELECT count(*) FROM system.local",
        ] {
            if let Err(refusal) = parse(text) {
                panic!("{text}: {}", refusal.text());
            }
        }
    }

    #[test]
    fn markers_are_numbered_in_their_order_and_keep_their_names() {
        let (_, markers) = parse("UPDATE t SET a = ? WHERE b = :key IF c = ?").expect("a statement");
        assert_eq!(markers, [None, Some("key".to_owned()), None]);
    }

    #[test]
    fn what_is_not_served_is_named_and_what_is_no_statement_is_a_syntax_error() {
        for (text, what) in [
            ("ALTER TABLE t ADD b int", "not served: ALTER"),
            ("SELECT DISTINCT a FROM t", "not served: SELECT DISTINCT"),
            ("UPDATE t SET n = n + 1 WHERE a = 1", "not served: counters"),
            ("CREATE INDEX ON t (a)", "not served: CREATE INDEX"),
            ("CREATE TABLE t (a int PRIMARY KEY, b int static)", "not served: static columns"),
            ("INSERT INTO t (a) VALUES ([1])", "not served: collections"),
            ("SELECT * FROM t WHERE token(a) > 1", "not served: token()"),
            ("DELETE FROM t USING TTL 3 WHERE a = 1", "takes no TTL"),
            ("SELECT * FORM t", "expected FROM"),
            (&format!("INSERT INTO t (a) VALUES ({}", "f(".repeat(100_000)), "nested deeper"),
            ("", "expected a statement, and found the end"),
            ("UPDATE t SET a = 1", "expected WHERE"),
            ("SELECT * FROM t WHERE a = 1 2", "expected the end"),
        ] {
            let why = refused(text);
            assert!(why.contains(what), "{text}: {why}");
        }
    }

    #[test]
    fn any_sequence_of_words_is_a_statement_or_an_error() {
        let words = prop_oneof![
            Just("select"),
            Just("insert into"),
            Just("update"),
            Just("t"),
            Just("from"),
            Just("where"),
            Just("("),
            Just(")"),
            Just("="),
            Just("?"),
            Just("'x'"),
            Just("if"),
            Just("exists"),
            Just("begin batch"),
            Just(","),
            Just("create table"),
            Just("primary key"),
            Just("using ttl"),
            Just("-"),
            Just("1"),
            Just("{"),
            Just("set"),
        ];
        proptest!(|(words in vec(words, 0..14))| {
            let _parsed = parse(&words.join(" "));
        });
    }
}
