//! Did you mean: the known word that is nearest to a misspelt one.

/// The nearest of the known words, unless none is near.
pub fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let with_distance = known.iter().map(|candidate| (distance(word, candidate), *candidate));
    let (steps, candidate) = with_distance.min_by_key(|(steps, _)| *steps)?;
    (steps <= candidate.len().div_ceil(3)).then_some(candidate)
}

/// How many letters are put in, taken out or replaced to turn one word into the other.
/// Case and the marks between words do not count.
fn distance(one: &str, other: &str) -> usize {
    let letters = |word: &str| -> Vec<char> {
        let plain = word.chars().filter(|letter| letter.is_alphanumeric());
        plain.map(|letter| letter.to_ascii_lowercase()).take(64).collect()
    };
    let (one, other) = (letters(one), letters(other));
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, letter) in one.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], index + 1);
        for (column, candidate) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != candidate);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}
