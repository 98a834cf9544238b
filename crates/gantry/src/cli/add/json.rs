//! The entries of servers in JSON, as READMEs print them: one, or a block with several by name.

use std::path::Path;

use gantry::{RawJson, config};
use gantry_protocol::JsonLimits;

use crate::cli::call::read_file;
use crate::cli::exit::{Code, Exit};
use crate::cli::import::read::of_text;
use crate::cli::import::translate::{self, Translated};

const HINT: &str = "write an entry such as {\"command\": \"npx\", \"args\": [\"-y\", \"…\"]} \
                    after its name, or a block such as {\"mcpServers\": {…}} alone";

/// The servers of a text with their names; `-` is standard input. A name that is given beside a block
/// chooses one of its servers, or names the only one.
pub(super) fn entries(name: Option<&str>, given: &str) -> Result<Vec<(String, Translated)>, Exit> {
    let text = match given {
        "-" => read_file("-").map_err(|error| usage(&format!("standard input: {error}")))?,
        given => given.to_owned(),
    };
    let plain = config::plain_json(text.as_bytes())
        .map_err(|_| usage("the JSON has a comment without an end"))?;
    let json = RawJson::parse(plain, JsonLimits::default())
        .map_err(|error| usage(&format!("the entry is not valid JSON: {error}")))?;
    let mut found = of_text(&json);
    if found.is_empty() {
        let name = name.ok_or_else(|| usage("a single entry needs a name before it"))?;
        let translated = translate::translate(Path::new(""), &json);
        let translated =
            translated.map_err(|why| usage(&format!("the entry cannot be taken: {why}")))?;
        return Ok(vec![(name.to_owned(), translated)]);
    }
    if let Some(name) = name {
        match found.iter().position(|it| it.name == name) {
            Some(chosen) => found = vec![found.swap_remove(chosen)],
            None if found.len() == 1 => found[0].name = name.to_owned(),
            None => {
                let names: Vec<&str> = found.iter().map(|it| it.name.as_str()).collect();
                let text = format!("the block has no server `{name}`; it has {}", names.join(", "));
                return Err(usage(&text));
            }
        }
    }
    let taken = found.into_iter().map(|it| match it.translated {
        Ok(translated) => Ok((translate::plain_name(&it.name), translated)),
        Err(why) => Err(usage(&format!("the server `{}` cannot be taken: {why}", it.name))),
    });
    taken.collect()
}

fn usage(text: &str) -> Exit {
    Exit::new(Code::Usage, text).hint(HINT)
}
