//! Declares the configuration flag of the model checker to the compiler's check of flag names.

fn main() {
    println!("cargo::rustc-check-cfg=cfg(loom)");
    println!("cargo::rerun-if-changed=build.rs");
}
