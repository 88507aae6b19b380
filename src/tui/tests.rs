//! Tests of the whole screen: states built from scripted sessions, drawn at every size, driven by keys.

mod looks;
mod states;
mod steering;
