//! Hostile servers, and what everybody else feels of them: a client that calls a tool of another
//! server all the while is answered as fast as before, and no memory is left behind.
//!
//! `GANTRY_ADVERSARIAL=strict` holds a release build (`GANTRY_PROGRAM`) to the bounds that are
//! promised; without it the bounds are wide, since a debug build on a busy machine is slow.

mod attackers;
mod bystander;
mod memory;
mod suite;

use suite::{over_http, over_stdio};

/// One test for each line: its name, the way to the server, and the attack.
macro_rules! attacks {
    ($($name:ident: $way:ident $attack:literal;)*) => {$(
        #[tokio::test]
        async fn $name() {
            $way($attack).await;
        }
    )*};
}

attacks! {
    headers_without_end: over_http "endless-headers";
    a_header_without_end: over_http "endless-header";
    interim_responses_without_end: over_http "endless-continue";
    a_body_without_end: over_http "endless-body";
    a_body_drip_by_drip: over_http "slow-drip";
    more_bytes_than_announced: over_http "short-length";
    fewer_bytes_than_announced: over_http "long-length";
    a_chunk_without_a_size: over_http "bad-chunk";
    a_reset_in_the_body: over_http "reset";
    redirects_in_a_circle: over_http "redirects";
    events_without_end: over_http "endless-events";
    an_event_without_end: over_http "huge-event";
    silence_after_accepting: over_http "hang";
    a_huge_body: over_http "huge-message";
    a_large_text_in_a_body: over_http "large-text";
    many_values_in_a_body: over_http "large-values";
    deep_nesting_in_a_body: over_http "deep";
    a_malformed_batch_in_a_body: over_http "batch";
    foreign_ids_in_events: over_http "foreign-ids";
    duplicates_in_events: over_http "duplicates";
    a_result_against_its_own_schema: over_http "result-bomb";
    changed_lists_in_events: over_http "list-changed";
    a_giant_list_in_bodies: over_http "giant-list";
    schema_bombs_in_a_body: over_http "schema-bombs";

    a_huge_line: over_stdio "huge-message";
    a_large_text_in_a_line: over_stdio "large-text";
    many_values_in_a_line: over_stdio "large-values";
    deep_nesting_in_a_line: over_stdio "deep";
    a_malformed_batch_in_a_line: over_stdio "batch";
    foreign_ids_in_lines: over_stdio "foreign-ids";
    duplicates_in_lines: over_stdio "duplicates";
    a_result_bomb_in_a_line: over_stdio "result-bomb";
    notifications_without_end: over_stdio "notifications";
    changed_lists_without_end: over_stdio "list-changed";
    questions_without_end: over_stdio "questions";
    garbage_without_end: over_stdio "garbage";
    standard_error_without_end: over_stdio "stderr";
    half_a_line: over_stdio "half-line";
    an_exit_at_each_call: over_stdio "exits";
    a_giant_list_in_lines: over_stdio "giant-list";
    schema_bombs_in_a_line: over_stdio "schema-bombs";
}
