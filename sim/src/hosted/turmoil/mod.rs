//! Under turmoil.
