//! Bytes in JSON.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Bytes, as etcd's gateway takes them.
pub fn base64(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let three = [chunk[0], *chunk.get(1).unwrap_or(&0), *chunk.get(2).unwrap_or(&0)];
        let all = u32::from(three[0]) << 16 | u32::from(three[1]) << 8 | u32::from(three[2]);
        for place in 0..4 {
            let digit = ALPHABET[(all >> (18 - 6 * place)) as usize & 63] as char;
            text.push(if place <= chunk.len() { digit } else { '=' });
        }
    }
    text
}

/// A text, as it tells it.
pub fn text_of(base64: &str) -> String {
    let digits = base64.bytes().filter_map(|digit| ALPHABET.iter().position(|known| *known == digit));
    let bits: Vec<u8> =
        digits.flat_map(|digit| (0..6).rev().map(move |bit| (digit >> bit & 1) as u8)).collect();
    let bytes = bits.chunks_exact(8).map(|bits| bits.iter().fold(0_u8, |byte, bit| byte << 1 | bit));
    String::from_utf8(bytes.collect()).expect("a text")
}
