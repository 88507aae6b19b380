//! throttlescope measures how much load a DynamoDB table accepts before it throttles, and whose limit that was.

pub mod analysis;
pub mod cli;
pub mod doctor;
pub mod embedded;
pub mod headless;
pub mod load;
pub mod plan;
pub mod report;
pub mod sdk;
pub mod session;
pub mod table;
pub mod tui;
pub mod wire;
