//! Which of the rules: one bit for each, in their order.

/// A set of rules.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Bits(Box<[u64]>);

const WORD: usize = u64::BITS as usize;

impl Bits {
    /// Those of the rules for which this holds.
    pub(super) fn of<T>(rules: &[T], holds: impl Fn(&T) -> bool) -> Self {
        let word = |rules: &[T]| {
            let bits = rules.iter().enumerate().filter(|(_, rule)| holds(rule));
            bits.fold(0, |word, (index, _)| word | (1 << index))
        };
        Self(rules.chunks(WORD).map(word).collect())
    }

    /// The rules that are in both sets, in order.
    pub(super) fn both<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = usize> + 'a {
        let words = self.0.iter().zip(&other.0).enumerate();
        words.flat_map(|(at, (one, other))| Ones(one & other).map(move |bit| at * WORD + bit))
    }
}

/// The bits of a word, the lowest first.
struct Ones(u64);

impl Iterator for Ones {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let bit = self.0.trailing_zeros() as usize;
        self.0 &= self.0 - 1;
        Some(bit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_common_ones_come_in_order() {
        for count in [0, 1, 63, 64, 65, 200] {
            let rules: Vec<usize> = (0..count).collect();
            let (twos, threes) =
                (Bits::of(&rules, |it| it % 2 == 0), Bits::of(&rules, |it| it % 3 == 0));
            let expected: Vec<usize> = (0..count).filter(|it| it % 6 == 0).collect();
            assert_eq!(twos.both(&threes).collect::<Vec<_>>(), expected, "{count}");
        }
    }
}
