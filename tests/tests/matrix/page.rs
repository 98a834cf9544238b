//! `docs/bridge.md`: its tables are written from what the tests with the gateway have seen, and hold
//! only if those see all of it again.

use gantry::Revision;
use gantry_tests::temp_folder::root;

use crate::features::{FEATURES, Feature, Verdict};
use crate::peers::Kind;
use crate::record::Record;

/// Between these lines the page is written by this test.
const MARKS: [&str; 2] = ["<!-- matrix -->\n", "<!-- end of matrix -->\n"];

/// Everything between the marks.
fn tables(record: &Record) -> String {
    let mut page =
        String::from("\n### Servers\n\n| server | revisions and transports |\n|---|---|\n");
    for kind in Kind::ALL {
        page.push_str(&format!(
            "| [{}](../tests/servers/README.md) | {} |\n",
            kind.name(),
            spoken(kind)
        ));
    }
    for feature in FEATURES {
        page.push_str(&table(feature, record));
    }
    page.push('\n');
    page
}

/// The revisions that a kind of server speaks, each with its transports.
fn spoken(kind: Kind) -> String {
    let peers = kind.peers();
    let mut revisions: Vec<_> = peers.iter().map(|peer| peer.revision).collect();
    revisions.dedup();
    let told = revisions.iter().map(|revision| {
        let own = peers.iter().filter(|peer| peer.revision == *revision);
        let transports: Vec<_> = own.map(|peer| peer.transport.name()).collect();
        format!("{revision} ({})", transports.join(", "))
    });
    told.collect::<Vec<_>>().join("; ")
}

/// One feature: clients down, servers across.
fn table(feature: &Feature, record: &Record) -> String {
    let heads = Revision::ALL.map(|it| format!(" {it} |")).concat();
    let rule = "---|".repeat(Revision::ALL.len());
    let mut text = format!("\n### {}\n\n", capital(feature.name));
    text.push_str(&format!("| client \\ server |{heads}\n|---|{rule}\n"));
    for client in Revision::ALL {
        text.push_str(&format!("| {client} |"));
        for server in Revision::ALL {
            let (said, why) = match feature.verdict(client, server) {
                Verdict::Works => ("yes", String::new()),
                Verdict::Lowered(form) => (form, String::new()),
                Verdict::Impossible(reason) => ("no", format!(": {reason}")),
            };
            let count = record.servers(feature, client, server);
            text.push_str(&format!(" [{said}](../{}), {count}{why} |", feature.file));
        }
        text.push('\n');
    }
    text
}

fn capital(name: &str) -> String {
    let (first, rest) = name.split_at(1);
    format!("{}{rest}", first.to_uppercase())
}

/// With `WRITE_PAGE` set the page is written instead, from the last run.
#[test]
fn the_page_shows_every_cell() {
    let path = root().join("docs/bridge.md");
    let page = std::fs::read_to_string(&path).expect("the page");
    let (before, rest) = page.split_once(MARKS[0]).expect("the page has its first mark");
    let (shown, after) = rest.split_once(MARKS[1]).expect("the page has its last mark");
    if std::env::var_os("WRITE_PAGE").is_some() {
        let record = Record::of_last_run();
        let lacks = record.lacks(&Record::full());
        assert!(lacks.is_empty(), "run all `through_` tests first; not seen: {lacks:#?}");
        let page = [before, MARKS[0], &tables(&record), MARKS[1], after].concat();
        std::fs::write(&path, page).expect("the page can be written");
        return;
    }
    let is_whole = shown == tables(&Record::full());
    assert!(is_whole, "docs/bridge.md is stale; run this test with `WRITE_PAGE=1`");
}
