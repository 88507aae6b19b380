//! Builders of recordings for tests.
