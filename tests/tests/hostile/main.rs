//! Clients that mean harm or are badly written: the right error, the connection goes on where it
//! may, nothing grows, nobody else notices.

mod crowd;
mod flood;
mod heads;
mod manners;
mod messages;
mod seals;
mod socket;
mod stalled;
mod vanish;
mod websocket;
