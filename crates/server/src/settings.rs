//! Every limit and option of the server, with its default.

use std::time::Duration;

use gantry_protocol::{JsonLimits, Revision};

/// Which eras of the protocol are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Eras {
    /// Legacy and modern clients, side by side.
    #[default]
    Both,
    /// Only clients that open a session with `initialize`.
    Legacy,
    /// Only stateless clients.
    Modern,
}

/// The settings of a server.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Which eras are served.
    pub eras: Eras,
    /// The revision that `initialize` negotiates, whatever the client offers. Without it the client's
    /// own, or the newest legacy one.
    pub handshake_revision: Option<Revision>,
    /// Size and depth of one message: an HTTP body, a line, a frame.
    pub message: JsonLimits,
    /// Messages in one batch (2025-03-26).
    pub batch: usize,
    /// Bytes of an HTTP request's head.
    pub head: usize,
    /// HTTP connections at once; fewer where the limit of open files leaves no more.
    pub connections: usize,
    /// HTTP connections of one peer address (of one /64 network, with IPv6).
    pub connections_of_peer: usize,
    /// HTTP connections on which no request was authenticated yet. At this limit, and at the others
    /// for connections, the oldest of them is closed to make room.
    pub connections_unauthenticated: usize,
    /// Open files that connections leave free for child processes, stores and all else; at most
    /// half of what the system allows.
    pub descriptor_reserve: usize,
    /// Bytes of bodies that are being received at once, over all HTTP connections. Beyond it, a
    /// request is answered with 503.
    pub receiving: usize,
    /// The same for one principal.
    pub receiving_of_principal: usize,
    /// Bytes of heads that are being received at once, before anybody is authenticated.
    pub receiving_heads: usize,
    /// Connections to the control socket at once.
    pub control_connections: usize,
    /// Worker threads that HTTP connections are spread over beside the runtime that listens, each
    /// with a runtime of its own. A connection stays where it was put, and handlers run there: they
    /// must not block, and cannot use `tokio::task::block_in_place`. With none, that runtime has
    /// all connections.
    pub threads: usize,
    /// Percent of each total (sessions, streams, subscriptions, parked calls, tasks, bytes) that
    /// one principal may hold. Where callers are not authenticated there is only one, which may
    /// hold everything.
    pub principal_share: u8,
    /// Sessions kept in memory at once. The oldest idle ones of the same principal make room; they
    /// go on when used.
    pub sessions: usize,
    /// How long an idle session is kept in memory. One with a running call or task or with an open
    /// stream is not idle, whatever else it holds.
    pub session_idle: Duration,
    /// How long a session id is good for.
    pub session_lifetime: Duration,
    /// Event streams open at once, over all clients.
    pub streams: usize,
    /// Event streams of one session, open or kept for its client to come back to.
    pub streams_of_session: usize,
    /// Resources one session or listener may watch.
    pub watched: usize,
    /// Resource subscriptions over all clients.
    pub watched_total: usize,
    /// Bytes of sessions, subscriptions, parked calls and running tasks, over all clients.
    pub held: usize,
    /// Calls that run at once on one stdio, WebSocket or HTTP+SSE connection. Others wait for their
    /// turn, no longer than a call may take.
    pub calls_of_connection: usize,
    /// Bytes of calls that wait for their turn on one connection. Beyond it nothing is read, so that
    /// the client has to wait.
    pub waiting_of_connection: usize,
    /// Calls that wait for a client's answers, over all clients and for one principal.
    pub parked: usize,
    /// The same for one principal.
    pub parked_of_principal: usize,
    /// How long such a call waits.
    pub parked_for: Duration,
    /// Tasks running at once, over all clients.
    pub tasks: usize,
    /// The same for one principal.
    pub tasks_of_principal: usize,
    /// Tasks that one session lists.
    pub tasks_listed: usize,
    /// How long a task is known from its beginning on, when nobody wishes otherwise.
    pub task_ttl: Duration,
    /// The most that anybody may wish.
    pub task_ttl_limit: Duration,
    /// How often a client should ask how a task is, when its provider does not say.
    pub task_poll: Duration,
    /// Bytes that the result of a task may have.
    pub task_result: usize,
    /// Bytes of ended tasks kept in memory, when they are not written down elsewhere.
    pub task_memory: usize,
    /// The same where they are written down elsewhere.
    pub task_store: usize,
    /// Events of one stream kept for a client that comes back.
    pub replay_events: usize,
    /// Their size in bytes.
    pub replay_bytes: usize,
    /// The size of everything kept so, over all clients.
    pub replay_total: usize,
    /// How long a finished stream is kept for a client that comes back.
    pub replay_for: Duration,
    /// How long a client should wait before it comes back.
    pub retry: Duration,
    /// How often a silent stream says that it is alive. A call that is silent for this long is
    /// answered with a stream.
    pub keep_alive: Duration,
    /// How long an HTTP client may take to send a request's head.
    pub head_timeout: Duration,
    /// How long it may take to send the rest.
    pub body_timeout: Duration,
    /// How long either may come at any rate before a minimum holds.
    pub rate_grace: Duration,
    /// Bytes a second at which a head must come after that; zero for no minimum.
    pub head_rate: usize,
    /// The same for a body.
    pub body_rate: usize,
    /// How long a client may leave what it is sent unread before its connection ends.
    pub unread: Duration,
    /// Bytes a second at which it must read what waits for it after that; zero for no minimum.
    pub read_rate: usize,
    /// Bytes of large answers that wait to be read, of all clients together.
    pub sending: usize,
    /// The same for one principal.
    pub sending_of_principal: usize,
    /// How long calls in flight may take to end when their client has no more to say.
    pub linger: Duration,
    /// How long calls in flight may take to end when the server stops.
    pub drain: Duration,
    /// Whether every client gets values as content blocks of type `json`, which no revision knows.
    /// One that declares `experimental.jsonContent` gets them anyway.
    pub json_content: bool,
    /// Hosts that clients may name beside the loopback ones, as `name` or `name:port`.
    pub allowed_hosts: Vec<String>,
    /// Origins that browsers may come from beside the loopback ones.
    pub allowed_origins: Vec<String>,
    /// Whether `/metrics` is served without authentication.
    pub metrics_open: bool,
    /// Log lines about refused requests (no token, a foreign host or origin, too many connections)
    /// in ten seconds, of each kind. The rest is counted.
    pub refusals_logged: u32,
    /// The key that seals session ids and request states. A random one lasts until the restart.
    pub key: Option<[u8; 32]>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            eras: Eras::Both,
            handshake_revision: None,
            message: JsonLimits::default(),
            batch: 100,
            head: 64 * 1024,
            connections: 10_000,
            connections_of_peer: 4096,
            connections_unauthenticated: 1024,
            descriptor_reserve: 512,
            receiving: 256 * 1024 * 1024,
            receiving_of_principal: 128 * 1024 * 1024,
            receiving_heads: 8 * 1024 * 1024,
            control_connections: 64,
            threads: 0,
            principal_share: 25,
            sessions: 100_000,
            session_idle: Duration::from_secs(30 * 60),
            session_lifetime: Duration::from_secs(30 * 24 * 3600),
            streams: 10_000,
            streams_of_session: 64,
            watched: 1000,
            watched_total: 100_000,
            held: 256 * 1024 * 1024,
            calls_of_connection: 256,
            waiting_of_connection: 16 * 1024 * 1024,
            parked: 1000,
            parked_of_principal: 100,
            parked_for: Duration::from_secs(10 * 60),
            tasks: 1000,
            tasks_of_principal: 100,
            tasks_listed: 1000,
            task_ttl: Duration::from_secs(3600),
            task_ttl_limit: Duration::from_secs(24 * 3600),
            task_poll: Duration::from_secs(1),
            task_result: 4 * 1024 * 1024,
            task_memory: 64 * 1024 * 1024,
            task_store: 256 * 1024 * 1024,
            replay_events: 256,
            replay_bytes: 1024 * 1024,
            replay_total: 256 * 1024 * 1024,
            replay_for: Duration::from_secs(5 * 60),
            retry: Duration::from_millis(500),
            keep_alive: Duration::from_secs(15),
            head_timeout: Duration::from_secs(30),
            body_timeout: Duration::from_secs(30),
            rate_grace: Duration::from_secs(10),
            head_rate: 64,
            body_rate: 1024,
            read_rate: 4096,
            sending: 512 * 1024 * 1024,
            sending_of_principal: 256 * 1024 * 1024,
            unread: Duration::from_secs(15),
            linger: Duration::from_secs(2),
            drain: Duration::from_secs(10),
            json_content: false,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            metrics_open: false,
            refusals_logged: 10,
            key: None,
        }
    }
}
