//! Pins for people: a table of all, and how definitions differ line by line.

use crate::commands::tools::pin::{DifferenceRow, FindingRow, HeldRow, PinRow, Report};
use crate::render::{Style, Table, one_line, visible};

/// All pins, what is held back first.
pub(crate) fn all(report: &Report, style: Style) -> String {
    let mut table = Table::default();
    for row in &report.held {
        table.row([&row.name, &row.kind, "held back", &why(row)]);
    }
    for row in &report.changed {
        table.row([&row.name, &row.kind, "shown as pinned", &why(row)]);
    }
    let is_told = |pin: &&PinRow| {
        let mut rows = report.held.iter().chain(&report.changed);
        rows.any(|it| it.path == pin.path && it.kind == pin.kind)
    };
    for row in report.pins.iter().filter(|pin| !is_told(pin)) {
        let mut notes = vec![format!("{} {}", row.accepted_by, row.first_seen)];
        notes.extend(row.new_since.as_ref().map(|day| format!("new since {day}")));
        notes.extend(row.renamed_from.as_ref().map(|name| format!("was called `{name}`")));
        notes.extend(row.findings.iter().map(|it| format!("suspicious: {} {}", it.place, it.what)));
        let state = if row.offered { "pinned" } else { "not offered" };
        table.row([&row.name, &row.kind, state, &visible(&notes.join("; "))]);
    }
    match table.to_text(style) {
        text if text.is_empty() => format!("nothing is pinned (pins: {})", report.mode),
        text => text,
    }
}

/// How each of these differs from what was pinned.
pub(crate) fn diff(rows: &[HeldRow], style: Style) -> String {
    let pages: Vec<String> = rows.iter().map(|row| one(row, style)).collect();
    match pages.is_empty() {
        true => "no definition has changed".to_owned(),
        false => pages.join("\n"),
    }
}

/// One thing on a line: what it is, and why it is held back.
pub(crate) fn line(row: &HeldRow) -> String {
    match why(row) {
        why if why.is_empty() => row.path.clone(),
        why => format!("{} ({why})", row.path),
    }
}

fn one(row: &HeldRow, style: Style) -> String {
    let title = format!("{} {} ({})", row.kind, row.path, why(row));
    let mut page = style.bold(&one_line(&title)) + "\n";
    for change in &row.changes {
        let text = one_line(&change.text);
        page.push_str(&format!("  {:6} {text}\n", change.class));
    }
    for FindingRow { place, what, excerpt } in &row.findings {
        let text = one_line(&format!("{place} {what}: {excerpt}"));
        page.push_str(&format!("  {} {}\n", style.red("suspicious"), text));
    }
    for difference in &row.differences {
        page.push_str(&format!("  {}\n", style.dim(&one_line(&difference.place))));
        page.push_str(&lines(difference, style));
    }
    page
}

/// Both texts by line; what they begin and end with alike is left out.
fn lines(difference: &DifferenceRow, style: Style) -> String {
    let split = |text: &Option<String>| -> Vec<String> {
        text.iter().flat_map(|text| text.split('\n')).map(visible).collect()
    };
    let (before, now) = (split(&difference.before), split(&difference.now));
    let alike = before.iter().zip(&now).take_while(|(one, other)| one == other).count();
    let (before, now) = (&before[alike..], &now[alike..]);
    let pairs = before.iter().rev().zip(now.iter().rev());
    let outcome_class = pairs.take_while(|(one, other)| one == other).count();
    let gone =
        before[..before.len() - outcome_class].iter().map(|it| style.red(&format!("  - {it}")));
    let new = now[..now.len() - outcome_class].iter().map(|it| style.green(&format!("  + {it}")));
    gone.chain(new).map(|line| format!("  {line}\n")).collect()
}

fn why(row: &HeldRow) -> String {
    let class = row.class.as_ref().map(|class| format!(", {class}")).unwrap_or_default();
    let mut places: Vec<&str> =
        row.changes.iter().filter_map(|change| change.place.split('.').next()).collect();
    places.sort_unstable();
    places.dedup();
    let places = if places.is_empty() { String::new() } else { format!(": {}", places.join(", ")) };
    format!("{}{places}{class}", row.reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::tools::pin::ChangeRow;

    #[test]
    fn texts_by_line() {
        let text = |it: &str| Some(it.to_owned());
        let cases = [
            (text("a\nb\nc"), text("a\nx\nc"), "    - b\n    + x\n"),
            (None, text("a"), "    + a\n"),
            (text("a"), None, "    - a\n"),
            (text("a"), text("a\u{200b}"), "    - a\n    + a⟨U+200B⟩\n"),
            (text("a"), text("a\nb"), "    + b\n"),
            (text("a\na"), text("a"), "    - a\n"),
        ];
        for (before, now, expected) in cases {
            let difference = DifferenceRow { place: "p".into(), before, now };
            assert_eq!(lines(&difference, Style::PLAIN), expected, "{difference:?}");
        }
    }

    #[test]
    fn a_page() {
        let change = ChangeRow {
            class: "patch".into(),
            place: "description".into(),
            text: "the description of the tool changed".into(),
        };
        let row = HeldRow {
            path: "s/a".into(),
            kind: "tool".into(),
            name: "s_a".into(),
            reason: "changed".into(),
            class: Some("patch".into()),
            changes: vec![change],
            differences: vec![DifferenceRow {
                place: "description".into(),
                before: Some("Adds.".into()),
                now: Some("Sends.".into()),
            }],
            ..HeldRow::default()
        };
        let expected = "\
tool s/a (changed: description, patch)
  patch  the description of the tool changed
  description
    - Adds.
    + Sends.
";
        assert_eq!(diff(std::slice::from_ref(&row), Style::PLAIN), expected);
        let report = Report { held: vec![row], ..Report::default() };
        let expected = "s_a  tool  held back  changed: description, patch";
        assert_eq!(all(&report, Style::PLAIN), expected);
        assert_eq!(diff(&[], Style::PLAIN), "no definition has changed");
    }
}
