//! The few fields of ELF headers that tell a static program from a dynamic one (`elf(5)`).
//!
//! Guarantees: pure; a damaged file is an error. Limits: little-endian files only, which all of our
//! targets are.

const PT_LOAD: u64 = 1;
const PT_DYNAMIC: u64 = 2;
const PT_INTERP: u64 = 3;
const DT_NEEDED: u64 = 1;

/// What a program's headers say.
#[derive(Debug, Default, PartialEq)]
pub struct Elf {
    /// `e_machine`.
    pub machine: u64,
    /// The dynamic linker, of which a static program has none.
    pub interpreter: Option<String>,
    /// Shared libraries it asks for.
    pub needed: usize,
    /// Alignment of each loaded segment, bytes.
    pub load_aligns: Vec<u64>,
}

/// Where a field is, in 32-bit and in 64-bit files: offset and width, bytes.
type Field = [(usize, usize); 2];

const PHOFF: Field = [(28, 4), (32, 8)];
const PHENTSIZE: Field = [(42, 2), (54, 2)];
const PHNUM: Field = [(44, 2), (56, 2)];
const P_TYPE: Field = [(0, 4), (0, 4)];
const P_OFFSET: Field = [(4, 4), (8, 8)];
const P_FILESZ: Field = [(16, 4), (32, 8)];
const P_ALIGN: Field = [(28, 4), (48, 8)];

impl Elf {
    /// # Errors
    /// What is missing.
    pub fn read(file: &[u8]) -> Result<Self, String> {
        let class = match file.get(..6) {
            Some([0x7f, b'E', b'L', b'F', class @ (1 | 2), 1]) => usize::from(class - 1),
            _ => return Err("no little-endian ELF file".to_owned()),
        };
        let mut elf = Self {
            machine: number(file, 18, 2)?,
            ..Self::default()
        };
        let field = |at: u64, field: Field| {
            let (offset, bytes) = field[class];
            number(file, at.saturating_add(offset as u64), bytes)
        };
        let (first, each, count) = (field(0, PHOFF)?, field(0, PHENTSIZE)?, field(0, PHNUM)?);
        for index in 0..count {
            let header = first.saturating_add(index * each);
            let content = || content(file, field(header, P_OFFSET)?, field(header, P_FILESZ)?);
            match field(header, P_TYPE)? {
                PT_LOAD => elf.load_aligns.push(field(header, P_ALIGN)?),
                PT_INTERP => {
                    elf.interpreter = Some(String::from_utf8_lossy(content()?).into_owned());
                }
                PT_DYNAMIC => elf.needed = needed(content()?, class)?,
                _ => {}
            }
        }
        Ok(elf)
    }
}

/// Entries are pairs of words: a tag and its value.
fn needed(dynamic: &[u8], class: usize) -> Result<usize, String> {
    let word = [4, 8][class];
    let mut count = 0;
    for entry in dynamic.chunks_exact(2 * word) {
        count += usize::from(number(entry, 0, word)? == DT_NEEDED);
    }
    Ok(count)
}

fn content(file: &[u8], offset: u64, bytes: u64) -> Result<&[u8], String> {
    let range = usize::try_from(offset)
        .ok()
        .zip(usize::try_from(bytes).ok());
    range
        .and_then(|(offset, bytes)| file.get(offset..offset.checked_add(bytes)?))
        .ok_or_else(|| format!("{bytes} bytes at {offset} are not there"))
}

fn number(file: &[u8], offset: u64, bytes: usize) -> Result<u64, String> {
    let digits = content(file, offset, bytes as u64)?;
    Ok(digits
        .iter()
        .rev()
        .fold(0, |number, byte| number << 8 | u64::from(*byte)))
}
