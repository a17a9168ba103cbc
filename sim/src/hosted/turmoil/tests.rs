use super::*;
use crate::toy;

#[test]
fn smoke() {
    let setup = toy::setup();
    for tick in [1, 5, 20] {
        let hosting = Hosting::with_tick(Micros::millis(tick));
        let started = std::time::Instant::now();
        let plan = Plan::default();
        let hosted = run(&setup, &plan, 1, &Limits::of(&setup), &hosting).unwrap();
        eprintln!("{tick} {:?} {hosted:?}", started.elapsed());
        let again = run(&setup, &plan, 1, &Limits::of(&setup), &hosting).unwrap();
        assert_eq!(hosted, again);
    }
}
