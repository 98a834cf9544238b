//! Every limit is a setting, and every setting is enforced: one test each.

mod batch;
mod control;
mod doors;
mod http;
mod middle;
mod streams;
mod tasks;
mod waiting;

use gantry::{GatewaySettings, ServerSettings};
use gantry_tests::test_server::{TestOptions, TestServer};

/// A house whose doors differ from the usual ones.
async fn test_server(doors: ServerSettings) -> TestServer {
    TestServer::with(TestOptions { doors, ..TestOptions::default() }).await
}

/// Tested elsewhere: beside the code, or with a program of its own.
const INSIDE: fn() = || {};

/// A setting and what shows that it holds. A new setting does not compile until it is here.
#[test]
fn every_setting_of_the_doors_has_a_test() {
    let ServerSettings {
        eras: _,
        handshake_revision: _,
        message: _,
        batch: _,
        head: _,
        connections: _,
        connections_of_peer: _,
        connections_unauthenticated: _,
        descriptor_reserve: _,
        receiving: _,
        receiving_of_principal: _,
        receiving_heads: _,
        control_connections: _,
        threads: _,
        principal_share: _,
        sessions: _,
        session_idle: _,
        session_lifetime: _,
        streams: _,
        streams_of_session: _,
        watched: _,
        watched_total: _,
        held: _,
        calls_of_connection: _,
        waiting_of_connection: _,
        parked: _,
        parked_of_principal: _,
        parked_for: _,
        tasks: _,
        tasks_of_principal: _,
        tasks_listed: _,
        task_ttl: _,
        task_ttl_limit: _,
        task_poll: _,
        task_result: _,
        task_memory: _,
        task_store: _,
        replay_events: _,
        replay_bytes: _,
        replay_total: _,
        replay_for: _,
        retry: _,
        keep_alive: _,
        head_timeout: _,
        body_timeout: _,
        rate_grace: _,
        head_rate: _,
        body_rate: _,
        unread: _,
        read_rate: _,
        sending: _,
        sending_of_principal: _,
        linger: _,
        drain: _,
        json_content: _,
        allowed_hosts: _,
        allowed_origins: _,
        metrics_open: _,
        refusals_logged: _,
        key: _,
    } = ServerSettings::default();
    let tests: [(&str, fn()); 60] = [
        ("eras", doors::eras),
        ("handshake_revision", doors::handshake_revision),
        ("message", doors::message),
        ("batch", doors::batch),
        ("head", http::head),
        ("connections", http::connections),
        ("connections_of_peer", http::connections_of_peer),
        ("connections_unauthenticated", http::connections_unauthenticated),
        // A process has one limit of open files: `http/connection_limits.rs`, and `tests/http/connections.rs`.
        ("descriptor_reserve", INSIDE),
        ("receiving", http::receiving),
        ("receiving_of_principal", http::receiving_of_principal),
        ("receiving_heads", http::receiving_heads),
        ("control_connections", control::control_connections),
        ("threads", http::threads),
        // `callers/exhaustion.rs` has several principals.
        ("principal_share", INSIDE),
        ("sessions", streams::sessions),
        // These need a clock that can be moved: `era/sessions/tests.rs` and `era/replay/tests.rs`.
        ("session_idle", INSIDE),
        ("session_lifetime", INSIDE),
        ("replay_for", INSIDE),
        ("streams", streams::streams),
        ("streams_of_session", streams::streams_of_session),
        ("watched", doors::watched),
        ("watched_total", doors::watched_total),
        ("held", doors::held),
        ("calls_of_connection", waiting::calls_of_connection),
        ("waiting_of_connection", waiting::waiting_of_connection),
        ("parked", doors::parked),
        ("parked_of_principal", doors::parked_of_principal),
        ("parked_for", doors::parked_for),
        ("tasks", tasks::tasks),
        ("tasks_of_principal", tasks::tasks_of_principal),
        ("tasks_listed", tasks::tasks_listed),
        ("task_ttl", tasks::task_ttl),
        ("task_ttl_limit", tasks::task_ttl_limit),
        ("task_poll", tasks::task_poll),
        ("task_result", tasks::task_result),
        // `task_log/tests.rs` fills it.
        ("task_memory", INSIDE),
        // `task_book/tests.rs` has a log that notes it.
        ("task_store", INSIDE),
        ("replay_events", streams::replay_events),
        ("replay_bytes", streams::replay_bytes),
        ("replay_total", streams::replay_total),
        ("retry", streams::retry),
        ("keep_alive", streams::keep_alive),
        ("head_timeout", http::head_timeout),
        ("body_timeout", http::body_timeout),
        ("rate_grace", http::rate_grace),
        ("head_rate", http::head_rate),
        ("body_rate", http::body_rate),
        ("unread", doors::unread),
        // `server/src/http/client_stream.rs` and `response.rs`
        ("read_rate", INSIDE),
        ("sending", INSIDE),
        ("sending_of_principal", INSIDE),
        ("linger", doors::linger),
        ("drain", doors::drain),
        ("json_content", doors::json_content),
        ("allowed_hosts", http::allowed_hosts),
        ("allowed_origins", http::allowed_origins),
        ("metrics_open", http::metrics_open),
        // The log is the program's: `tests/http/refusals.rs`.
        ("refusals_logged", INSIDE),
        ("key", doors::key),
    ];
    check(tests, &format!("{:?}", ServerSettings::default()));
}

#[test]
fn every_setting_of_the_middle_has_a_test() {
    let GatewaySettings {
        deadline: _,
        task_deadline: _,
        calls_in_flight: _,
        notifications: _,
        answer_within: _,
        input_rounds: _,
        check_threads: _,
        checks_waiting: _,
        page_size: _,
        page_bytes: _,
        list_ttl_ms: _,
        lists_are_public: _,
        names: _,
        settle: _,
        tools_labelled: _,
        tools_counted: _,
        batch_calls: _,
        batch_parallel: _,
        batch_references: _,
        batch_filled: _,
        batch_searched: _,
        batch_results: _,
    } = GatewaySettings::default();
    let tests: [(&str, fn()); 22] = [
        ("deadline", middle::deadline),
        // `names/shown.rs`
        ("names", INSIDE),
        ("task_deadline", tasks::task_deadline),
        ("calls_in_flight", middle::calls_in_flight),
        ("notifications", middle::notifications),
        ("answer_within", middle::answer_within),
        ("input_rounds", middle::input_rounds),
        // `gateway/src/pipeline/validation.rs`, with checks that last as long as the test says.
        ("check_threads", INSIDE),
        ("checks_waiting", INSIDE),
        ("page_size", middle::page_size),
        ("page_bytes", middle::page_bytes),
        ("list_ttl_ms", middle::list_ttl_ms),
        ("lists_are_public", middle::lists_are_public),
        ("settle", middle::settle),
        ("tools_labelled", middle::tools_labelled),
        ("tools_counted", middle::tools_counted),
        ("batch_calls", batch::batch_calls),
        ("batch_parallel", batch::batch_parallel),
        ("batch_references", batch::batch_references),
        ("batch_filled", batch::batch_filled),
        ("batch_searched", batch::batch_searched),
        ("batch_results", batch::batch_results),
    ];
    check(tests, &format!("{:?}", GatewaySettings::default()));
}

/// The table names each field once.
fn check<const N: usize>(tests: [(&str, fn()); N], settings: &str) {
    let names: std::collections::BTreeSet<_> = tests.iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), N, "a setting is listed twice");
    for name in names {
        assert!(settings.contains(&format!("{name}: ")), "{name} is no setting");
    }
}
