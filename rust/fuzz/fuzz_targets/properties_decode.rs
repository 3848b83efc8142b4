//! A property string. Lookup agrees with iteration, pairs come back, and stripping the checksum touches nothing else.

#![no_main]

use escrowmq_wire::{Properties, encode_properties, property_names::CRC32, strip_record_crc};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|raw: &[u8]| {
    let properties = Properties::new(raw);
    let pairs: Vec<_> = properties.iter_bytes().collect();
    // Each pair takes a byte of name, a separator and a byte of value.
    assert!(pairs.len() <= raw.len() / 3);

    let mut again = Vec::new();
    encode_properties(pairs.iter().copied(), &mut again);
    assert_eq!(Properties::new(&again).iter_bytes().collect::<Vec<_>>(), pairs);
    assert!(again.len() <= raw.len() + 1);

    for (name, _) in &pairs {
        let Ok(name) = std::str::from_utf8(name) else { continue };
        let last = pairs.iter().rev().find(|pair| pair.0 == name.as_bytes()).map(|pair| pair.1);
        assert_eq!(properties.get_bytes(name), last);
        assert_eq!(properties.get(name), last.and_then(|value| std::str::from_utf8(value).ok()));
    }

    let stripped = strip_record_crc(raw);
    let others: Vec<_> = pairs.into_iter().filter(|pair| pair.0 != CRC32.as_bytes()).collect();
    assert_eq!(Properties::new(&stripped).iter_bytes().collect::<Vec<_>>(), others);
    assert_eq!(strip_record_crc(&stripped), stripped);
});
