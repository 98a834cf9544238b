//! `docs/bridge.md`: the tables of the page come from the same table as the tests.

use gantry::Revision;
use gantry_tests::workshop::root;

use crate::features::{FEATURES, Feature, Verdict};
use crate::peers::Kind;

/// Between these lines the page is written by this test.
const MARKS: [&str; 2] = ["<!-- matrix -->\n", "<!-- end of matrix -->\n"];

/// Everything between the marks.
fn tables() -> String {
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
        page.push_str(&table(feature));
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
fn table(feature: &Feature) -> String {
    let heads = Revision::ALL.map(|it| format!(" {it} |")).concat();
    let rule = "---|".repeat(Revision::ALL.len());
    let mut text = format!("\n### {}\n\n", capital(feature.name));
    text.push_str(&format!("| client \\ server |{heads}\n|---|{rule}\n"));
    for client in Revision::ALL {
        text.push_str(&format!("| {client} |"));
        for server in Revision::ALL {
            let said = match feature.verdict(client, server) {
                Verdict::Works => format!("[yes](../{})", feature.file),
                Verdict::Lowered(form) => format!("[{form}](../{})", feature.file),
                Verdict::Impossible(reason) => format!("no: {reason}"),
            };
            text.push_str(&format!(" {said} |"));
        }
        text.push('\n');
    }
    text
}

fn capital(name: &str) -> String {
    let (first, rest) = name.split_at(1);
    format!("{}{rest}", first.to_uppercase())
}

/// With `WRITE_PAGE` set the page is written instead.
#[test]
fn the_page_shows_every_cell() {
    let path = root().join("docs/bridge.md");
    let page = std::fs::read_to_string(&path).expect("the page");
    let (before, rest) = page.split_once(MARKS[0]).expect("the page has its first mark");
    let (shown, after) = rest.split_once(MARKS[1]).expect("the page has its last mark");
    if std::env::var_os("WRITE_PAGE").is_some() {
        let page = [before, MARKS[0], &tables(), MARKS[1], after].concat();
        std::fs::write(&path, page).expect("the page can be written");
        return;
    }
    assert!(shown == tables(), "docs/bridge.md is stale; run this test with `WRITE_PAGE=1`");
}
