//! Our reading of HTTP/1.1 beside hyper's: what both understand of the same bytes must agree, or
//! ours must be the stricter. Who accepts what the proxy in front reads differently can be made to
//! take a part of one request for another.

mod cases;
mod generated;
mod peers;

use peers::{Ours, Theirs};

/// One request as a server understood it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Understood {
    method: String,
    /// Path and query.
    target: String,
    /// None if its end did not come.
    body: Option<Vec<u8>>,
}

/// Statuses that refuse the framing: the connection ends, and nothing behind is read. Any other
/// refusal is of a request that was understood.
const REFUSALS: [u16; 2] = [400, 431];

/// Holds what we did against what hyper did. The error says where they part.
fn judge(ours: &Ours, theirs: &Theirs) -> Result<(), String> {
    let mut served = ours.served.iter();
    for (index, status) in ours.statuses.iter().enumerate() {
        let other = theirs.0.get(index);
        match status {
            200 => {
                let own = served.next();
                if own.is_none() || own != other {
                    return Err(format!("request {index}: we read {own:?}, hyper {other:?}"));
                }
            }
            status if REFUSALS.contains(status) => {
                return match ours.statuses.len() == index + 1 && served.next().is_none() {
                    true => Ok(()),
                    false => Err(format!("we went on after {status}: {:?}", ours.statuses)),
                };
            }
            status if other.is_none() => {
                return Err(format!("request {index}: we answered {status}, hyper has none"));
            }
            _ => {}
        }
    }
    if let Some(more) = served.next() {
        return Err(format!("we served {more:?} and did not answer"));
    }
    // A stricter reading is told to the client; silence is only for what never became whole, and
    // for what follows an answer that ends the connection.
    match theirs.0.get(ours.statuses.len()) {
        Some(other) if other.body.is_some() && !ours.closed => {
            Err(format!("we said nothing to {other:?}"))
        }
        _ => Ok(()),
    }
}
