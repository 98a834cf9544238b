//! Properties that hold for every text, not only for those in the tables beside the code.

mod edit;
mod envelope;
mod generate;
mod header;
mod messages;
mod output_schema;
mod result;
mod round_trip;

use gantry_protocol::{JsonLimits, RawJson};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Reads a generated text.
fn json(text: &str) -> RawJson {
    RawJson::parse(text.to_owned(), JsonLimits::default()).expect("the generator writes valid JSON")
}

/// The members of an object as another reader sees them: names decoded, values as written,
/// doubles kept.
#[derive(Debug, PartialEq, Eq)]
struct Pairs(Vec<(String, String)>);

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Pairs;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
                let mut pairs = Vec::new();
                while let Some((key, value)) = map.next_entry::<String, Box<RawValue>>()? {
                    pairs.push((key, value.get().to_owned()));
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(Reader)
    }
}
