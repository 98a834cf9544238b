//! Whole conversations in each revision, on the doors that it has, compared message by message.

use std::path::Path;

use gantry_tests::transcript::Transcript;

fn transcripts() -> Vec<Transcript> {
    Transcript::all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("transcripts"))
}

#[test]
fn every_revision_has_a_transcript() {
    let mut revisions: Vec<_> = transcripts().iter().map(|it| it.revision().to_owned()).collect();
    revisions.dedup();
    let expected = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];
    assert_eq!(revisions, expected);
}

#[tokio::test]
async fn every_transcript_is_heard_as_written() {
    let mut differences = Vec::new();
    for transcript in transcripts() {
        differences.extend(transcript.replay().await.differences);
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
