//! The server's own tables, as far as drivers look into them when they connect: who is there, and what the schema is.

use super::kinds::Kind;
use super::schema::{Column, Role, Schema, Table};
use super::select::Row;
use bytes::{BufMut, Bytes, BytesMut};
use std::net::{IpAddr, SocketAddr};

/// Which version it says it is: the one that it is compared with. Its lightweight transactions are the simulator's, unless it is told to
/// have others (`paxos_variant`).
pub const RELEASE: &str = "4.1.7";
pub const CQL_VERSION: &str = "3.4.6";
pub const CLUSTER: &str = "picklock";
const DATACENTER: &str = "datacenter1";
const RACK: &str = "rack1";
const PARTITIONER: &str = "org.apache.cassandra.dht.Murmur3Partitioner";

/// What is told of the cluster to a client.
#[derive(Debug)]
pub struct View<'a> {
    pub schema: &'a Schema,
    /// Where the client finds the servers.
    pub addresses: Vec<SocketAddr>,
    pub server: u8,
}

/// A table in the making: columns, those of the key first, and rows.
struct Made {
    columns: Vec<(&'static str, Kind)>,
    rows: Vec<Vec<Option<Bytes>>>,
}

/// A table of the server's own, and all that is in it.
pub fn table(view: &View, keyspace: &str, name: &str) -> Option<(Table, Vec<Row>)> {
    let made = match (keyspace, name) {
        ("system", "local") => local(view),
        ("system", "peers") => peers(view),
        ("system", "peers_v2") => peers_v2(view),
        ("system_schema", "keyspaces") => keyspaces(view),
        ("system_schema", "tables") => tables(view),
        ("system_schema", "columns") => columns(view),
        ("system_schema", "types") => empty(&["keyspace_name", "type_name"]),
        ("system_schema", "functions") => empty(&["keyspace_name", "function_name"]),
        ("system_schema", "aggregates") => empty(&["keyspace_name", "aggregate_name"]),
        ("system_schema", "triggers") => empty(&["keyspace_name", "table_name", "trigger_name"]),
        ("system_schema", "indexes") => empty(&["keyspace_name", "table_name", "index_name"]),
        ("system_schema", "views") => empty(&["keyspace_name", "view_name"]),
        ("system_virtual_schema", "keyspaces") => empty(&["keyspace_name"]),
        ("system_virtual_schema", "tables") => empty(&["keyspace_name", "table_name"]),
        ("system_virtual_schema", "columns") => empty(&["keyspace_name", "table_name", "column_name"]),
        (_, _) => return None,
    };
    let is_ours = keyspace == "system";
    let key = if is_ours { 1 } else { made.columns.len().min(3) };
    let column = |(at, (name, kind)): (usize, &(&str, Kind))| Column {
        name: (*name).to_owned(),
        kind: kind.clone(),
        role: match at {
            0 => Role::Partition,
            _ if at < key => Role::Clustering { descends: false },
            _ => Role::Regular,
        },
    };
    let table = Table {
        id: 0,
        keyspace: keyspace.to_owned(),
        name: name.to_owned(),
        columns: made.columns.iter().enumerate().map(column).collect(),
        partition_columns: 1,
        clustering_columns: key - 1,
        default_ttl: 0,
    };
    let count = table.columns.len();
    let rows = made.rows.into_iter().map(|values| Row { values, ages: vec![None; count] });
    Some((table, rows.collect()))
}

fn text(text: &str) -> Option<Bytes> {
    Some(Bytes::copy_from_slice(text.as_bytes()))
}

fn int(number: i32) -> Option<Bytes> {
    Some(Bytes::copy_from_slice(&number.to_be_bytes()))
}

fn inet(address: IpAddr) -> Option<Bytes> {
    Some(match address {
        IpAddr::V4(address) => Bytes::copy_from_slice(&address.octets()),
        IpAddr::V6(address) => Bytes::copy_from_slice(&address.octets()),
    })
}

fn uuid(of: u64, number: u32) -> Option<Bytes> {
    let mut uuid = (u128::from(of) << 64 | u128::from(number)).to_be_bytes();
    uuid[6] = 0x40 | (uuid[6] & 0x0f);
    uuid[8] = 0x80;
    Some(Bytes::copy_from_slice(&uuid))
}

/// A list, a set, or a map: a count, and everything with its length.
fn collection(count: usize, all: &[String]) -> Option<Bytes> {
    let mut bytes = BytesMut::new();
    bytes.put_i32(i32::try_from(count).unwrap_or(i32::MAX));
    for text in all {
        bytes.put_i32(i32::try_from(text.len()).unwrap_or(i32::MAX));
        bytes.put_slice(text.as_bytes());
    }
    Some(bytes.freeze())
}

fn schema_version(view: &View) -> Option<Bytes> {
    uuid(0x7363_6865_6d61_0000, view.schema.version)
}

fn host_id(server: usize) -> Option<Bytes> {
    uuid(0x686f_7374_0000_0000, server as u32 + 1)
}

/// One part of the ring each, all of one size. Every server has everything, whichever's part it is.
fn tokens(view: &View, server: usize) -> Option<Bytes> {
    let part = u64::MAX / view.addresses.len().max(1) as u64;
    let token = i64::MIN.wrapping_add((part * server as u64) as i64).max(i64::MIN + 1);
    collection(1, &[token.to_string()])
}

fn set() -> Kind {
    Kind::Set(Box::new(Kind::Text))
}

fn map() -> Kind {
    Kind::Map(Box::new(Kind::Text), Box::new(Kind::Text))
}

fn empty(columns: &[&'static str]) -> Made {
    Made { columns: columns.iter().map(|name| (*name, Kind::Text)).collect(), rows: Vec::new() }
}

fn local(view: &View) -> Made {
    let server = usize::from(view.server);
    let address = view.addresses[server];
    let port = int(address.port().into());
    let all: Vec<(&'static str, Kind, Option<Bytes>)> = vec![
        ("key", Kind::Text, text("local")),
        ("bootstrapped", Kind::Text, text("COMPLETED")),
        ("broadcast_address", Kind::Inet, inet(address.ip())),
        ("broadcast_port", Kind::Int, port.clone()),
        ("cluster_name", Kind::Text, text(CLUSTER)),
        ("cql_version", Kind::Text, text(CQL_VERSION)),
        ("data_center", Kind::Text, text(DATACENTER)),
        ("gossip_generation", Kind::Int, int(1)),
        ("host_id", Kind::Uuid, host_id(server)),
        ("listen_address", Kind::Inet, inet(address.ip())),
        ("listen_port", Kind::Int, port.clone()),
        ("native_protocol_version", Kind::Text, text("4")),
        ("partitioner", Kind::Text, text(PARTITIONER)),
        ("rack", Kind::Text, text(RACK)),
        ("release_version", Kind::Text, text(RELEASE)),
        ("rpc_address", Kind::Inet, inet(address.ip())),
        ("rpc_port", Kind::Int, port),
        ("schema_version", Kind::Uuid, schema_version(view)),
        ("tokens", set(), tokens(view, server)),
    ];
    let columns = all.iter().map(|(name, kind, _)| (*name, kind.clone())).collect();
    Made { columns, rows: vec![all.into_iter().map(|(_, _, value)| value).collect()] }
}

fn others<'a>(view: &'a View) -> impl Iterator<Item = (usize, SocketAddr)> + 'a {
    let me = usize::from(view.server);
    view.addresses.iter().copied().enumerate().filter(move |(server, _)| *server != me)
}

/// Without ports: who is known by nothing else is in it only if it has an address of its own.
fn peers(view: &View) -> Made {
    let columns = vec![
        ("peer", Kind::Inet),
        ("data_center", Kind::Text),
        ("host_id", Kind::Uuid),
        ("preferred_ip", Kind::Inet),
        ("rack", Kind::Text),
        ("release_version", Kind::Text),
        ("rpc_address", Kind::Inet),
        ("schema_version", Kind::Uuid),
        ("tokens", set()),
    ];
    let is_alone =
        |address: &SocketAddr| view.addresses.iter().filter(|other| other.ip() == address.ip()).count() == 1;
    let rows = others(view).filter(|(_, address)| is_alone(address)).map(|(server, address)| {
        vec![
            inet(address.ip()),
            text(DATACENTER),
            host_id(server),
            None,
            text(RACK),
            text(RELEASE),
            inet(address.ip()),
            schema_version(view),
            tokens(view, server),
        ]
    });
    Made { columns, rows: rows.collect() }
}

fn peers_v2(view: &View) -> Made {
    let columns = vec![
        ("peer", Kind::Inet),
        ("peer_port", Kind::Int),
        ("data_center", Kind::Text),
        ("host_id", Kind::Uuid),
        ("native_address", Kind::Inet),
        ("native_port", Kind::Int),
        ("preferred_ip", Kind::Inet),
        ("preferred_port", Kind::Int),
        ("rack", Kind::Text),
        ("release_version", Kind::Text),
        ("schema_version", Kind::Uuid),
        ("tokens", set()),
    ];
    let rows = others(view).map(|(server, address)| {
        vec![
            inet(address.ip()),
            int(address.port().into()),
            text(DATACENTER),
            host_id(server),
            inet(address.ip()),
            int(address.port().into()),
            None,
            None,
            text(RACK),
            text(RELEASE),
            schema_version(view),
            tokens(view, server),
        ]
    });
    Made { columns, rows: rows.collect() }
}

fn keyspaces(view: &View) -> Made {
    let columns =
        vec![("keyspace_name", Kind::Text), ("durable_writes", Kind::Boolean), ("replication", map())];
    let rows = view.schema.keyspaces.iter().map(|(name, keyspace)| {
        let shown =
            |key: &str, value: &str| if key == "class" { keyspace.strategy() } else { value.to_owned() };
        let all: Vec<String> =
            keyspace.replication.iter().flat_map(|(key, value)| [key.clone(), shown(key, value)]).collect();
        vec![text(name), Some(Bytes::from_static(&[1])), collection(keyspace.replication.len(), &all)]
    });
    Made { columns, rows: rows.collect() }
}

fn all_tables<'a>(view: &'a View) -> impl Iterator<Item = &'a Table> + 'a {
    view.schema.keyspaces.values().flat_map(|keyspace| keyspace.tables.values()).map(|table| &**table)
}

fn tables(view: &View) -> Made {
    let columns = vec![
        ("keyspace_name", Kind::Text),
        ("table_name", Kind::Text),
        ("caching", map()),
        ("comment", Kind::Text),
        ("compaction", map()),
        ("compression", map()),
        ("default_time_to_live", Kind::Int),
        ("flags", set()),
        ("gc_grace_seconds", Kind::Int),
        ("id", Kind::Uuid),
    ];
    let rows = all_tables(view).map(|table| {
        vec![
            text(&table.keyspace),
            text(&table.name),
            collection(2, &["keys", "ALL", "rows_per_partition", "NONE"].map(str::to_owned)),
            text(""),
            collection(0, &[]),
            collection(0, &[]),
            int(i32::try_from(table.default_ttl).unwrap_or(i32::MAX)),
            collection(1, &["compound".to_owned()]),
            int(864_000),
            uuid(0x7461_626c_6500_0000, table.id),
        ]
    });
    Made { columns, rows: rows.collect() }
}

fn columns(view: &View) -> Made {
    let columns = vec![
        ("keyspace_name", Kind::Text),
        ("table_name", Kind::Text),
        ("column_name", Kind::Text),
        ("clustering_order", Kind::Text),
        ("column_name_bytes", Kind::Blob),
        ("kind", Kind::Text),
        ("position", Kind::Int),
        ("type", Kind::Text),
    ];
    let of_table = |table: &Table| {
        let row = |(at, column): (usize, &Column)| {
            let (kind, order, position) = match column.role {
                Role::Partition => ("partition_key", "none", at as i32),
                Role::Clustering { descends } => {
                    let order = if descends { "desc" } else { "asc" };
                    ("clustering", order, (at - table.partition_columns) as i32)
                }
                Role::Regular => ("regular", "none", -1),
            };
            vec![
                text(&table.keyspace),
                text(&table.name),
                text(&column.name),
                text(order),
                text(&column.name),
                text(kind),
                int(position),
                text(&column.kind.name()),
            ]
        };
        table.columns.iter().enumerate().map(row).collect::<Vec<_>>()
    };
    Made { columns, rows: all_tables(view).flat_map(of_table).collect() }
}
