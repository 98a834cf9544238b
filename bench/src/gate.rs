//! Whether a quick run passes: a row fails it only if it is broken in every try. Other work on the
//! machine can spoil one try; a real loss shows in each.

use crate::goals::{Goal, Row};
use crate::report::Report;
use crate::suite::Part;

/// How often a row is measured before it is believed to be broken.
const TRIES: usize = 3;

/// The rows that are broken in every try. Only the parts with such rows are measured again.
pub(crate) fn broken(
    mut measure: impl FnMut(&dyn Fn(&Part) -> bool) -> Report,
) -> Vec<&'static Goal> {
    let mut broken = measure(&|_| true).broken();
    for _ in 1..TRIES {
        if broken.is_empty() {
            break;
        }
        tell(&broken);
        let has_broken = |part: &Part| broken.iter().any(|goal| part.rows.contains(&goal.row));
        let again: Vec<Row> = measure(&has_broken).broken().iter().map(|goal| goal.row).collect();
        broken.retain(|goal| again.contains(&goal.row));
    }
    tell(&broken);
    broken
}

#[expect(clippy::print_stderr, reason = "failures of a program for a terminal")]
fn tell(broken: &[&Goal]) {
    for goal in broken {
        eprintln!("exceeded or not measured: {}", goal.text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::goals::GOALS;
    use crate::suite::PARTS;

    /// What is measured when these rows are broken, try by try; the others are as they should be.
    fn play(tries: &[&[Row]]) -> (Vec<Row>, Vec<usize>) {
        let mut measured = Vec::new();
        let broken = broken(|is_wanted| {
            let bad = tries[measured.len()];
            let wanted: Vec<&Part> = PARTS.iter().filter(|part| is_wanted(part)).collect();
            measured.push(wanted.len());
            let mut report = Report::default();
            for goal in
                GOALS.iter().filter(|it| wanted.iter().any(|part| part.rows.contains(&it.row)))
            {
                let is_bad = bad.contains(&goal.row);
                report.figure(goal.row, if is_bad { goal.limit * 2.0 } else { goal.goal });
            }
            report
        });
        (broken.iter().map(|goal| goal.row).collect(), measured)
    }

    #[test]
    fn only_what_is_broken_every_time_counts() {
        use Row::{Binary, List, Sessions};
        let all = PARTS.len();
        assert_eq!(play(&[&[]]), (vec![], vec![all]));
        assert_eq!(play(&[&[List], &[]]), (vec![], vec![all, 1]));
        assert_eq!(play(&[&[List, Binary], &[Binary], &[]]), (vec![], vec![all, 2, 1]));
        assert_eq!(play(&[&[List], &[List], &[List]]), (vec![List], vec![all, 1, 1]));
        // Another row that is broken later was in order before.
        assert_eq!(play(&[&[List], &[Sessions, List], &[]]), (vec![], vec![all, 1, 1]));
    }
}
