//! How the command line reaches a running gateway: over its control socket, and over the network only
//! as told.

mod calls;
mod documents;
mod gateway;
mod impostor;
mod instances;
mod network;
mod scopes;
mod socket;
