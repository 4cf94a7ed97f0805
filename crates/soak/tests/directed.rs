//! Each scene by itself.

use furrow_io::random::test_seed;
use furrow_soak::directed::SCENES;

#[test]
fn every_scene_goes_as_its_rule_has_it() {
    let seed = test_seed();
    println!("seed {seed}");
    for (name, scene) in SCENES {
        scene(seed).unwrap_or_else(|what| panic!("{name}: {what}"));
    }
}
