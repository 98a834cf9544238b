//! How long a pattern takes on a text, judged by the pattern alone: a linear-time engine looks at
//! each state for each byte at worst, and one that backtracks takes as many steps as it may.

/// States that an engine looks at in one step of ours.
const STATES: usize = 64;

/// Runs that a validator makes at most, as it is charged for, when a match could not be finished.
const RUNS: usize = 8;

/// States of a class of characters of all scripts, such as `\w`.
const CLASS: usize = 64;

/// Steps for every 64 bytes of a text. `backtracks` is what an engine for look-around may take.
pub(super) fn steps(pattern: &str, backtracks: usize) -> usize {
    let states = 1 + states(pattern);
    match looks_around(pattern) {
        true => states.saturating_add(backtracks.saturating_mul(RUNS)),
        false => states.saturating_mul(64) / STATES,
    }
}

/// Whether a pattern has what linear-time engines do not know: look-around or references back.
fn looks_around(pattern: &str) -> bool {
    let back = |pair: &[u8]| pair[0] == b'\\' && (pair[1].is_ascii_digit() || pair[1] == b'k');
    ["(?=", "(?!", "(?<=", "(?<!", "(?>"].iter().any(|it| pattern.contains(it))
        || pattern.as_bytes().windows(2).any(back)
}

/// About how many states a pattern has once every repetition is written out.
fn states(pattern: &str) -> usize {
    // What the open groups hold so far, the outermost first; and the last atom of the innermost.
    let (mut groups, mut last) = (vec![0usize], 0usize);
    let mut signs = pattern.chars().peekable();
    while let Some(sign) = signs.next() {
        let atom = match sign {
            '(' => {
                groups.push(0);
                last = 0;
                continue;
            }
            ')' if groups.len() > 1 => groups.pop().unwrap_or_default().max(1),
            '{' => {
                let count = repetitions(&mut signs);
                let more = last.saturating_mul(count.saturating_sub(1));
                add(&mut groups, more);
                last = last.saturating_add(more);
                continue;
            }
            '[' => {
                skip_class(&mut signs);
                4
            }
            '\\' => match signs.next() {
                Some('w' | 'W' | 'p' | 'P' | 'd' | 'D' | 's' | 'S') => CLASS,
                _ => 1,
            },
            '.' => 4,
            _ => 1,
        };
        add(&mut groups, atom);
        last = atom;
    }
    groups.iter().fold(0, |sum, group| sum.saturating_add(*group))
}

fn add(groups: &mut [usize], states: usize) {
    if let Some(group) = groups.last_mut() {
        *group = group.saturating_add(states);
    }
}

/// Reads `n}`, `n,}` or `n,m}`, and gives the largest number in it.
fn repetitions(signs: &mut std::iter::Peekable<std::str::Chars<'_>>) -> usize {
    let (mut number, mut largest) = (0usize, 1);
    while let Some(sign) = signs.next_if(|sign| sign.is_ascii_digit() || matches!(sign, ',' | '}'))
    {
        match sign.to_digit(10) {
            Some(digit) => number = number.saturating_mul(10).saturating_add(digit as usize),
            None => {
                largest = largest.max(number);
                number = 0;
            }
        }
        if sign == '}' {
            break;
        }
    }
    largest
}

fn skip_class(signs: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    while let Some(sign) = signs.next() {
        match sign {
            '\\' => drop(signs.next()),
            ']' => return,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_are_multiplied() {
        let cases = [
            ("", 0),
            ("abc", 3),
            ("a{10}", 10),
            ("a{10,}", 10),
            ("a{2,10}b", 11),
            ("(ab){10}", 20),
            ("((a{10}){10}){10}", 1000),
            ("[a-z\\]{9}]{5}", 20),
            ("\\{5}", 3),
            ("\\w{100}", 6400),
            ("(", 0),
            ("a)", 2),
            ("a{99999999999999999999}", usize::MAX),
        ];
        for (pattern, expected) in cases {
            assert_eq!(states(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn look_around_is_known() {
        let patterns = ["^(?!a)", "(?<=a)b", "(a)\\1", "(?<n>a)\\k<n>", "(?>a)"];
        assert!(patterns.iter().all(|pattern| looks_around(pattern)));
        assert!(!["^(a|b)+$", "(?:a)", "(?i)a", "\\d"].iter().any(|it| looks_around(it)));
    }
}
