//! The reasons why a command is refused, in the words of Redis 7.0.15.

use bytes::Bytes;

use super::reply::Reply;

/// An error reply. `Display` is the text that the client gets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    // Admission
    #[error("ERR unknown command '{name}', with args beginning with: {args}")]
    UnknownCommand { name: String, args: String },
    #[error("ERR unknown subcommand '{name}'. Try {container} HELP.")]
    UnknownSubcommand { container: String, name: String },
    #[error("ERR wrong number of arguments for '{0}' command")]
    Arity(&'static str),
    #[error("NOAUTH Authentication required.")]
    NoAuth,
    #[error("READONLY You can't write against a read only replica.")]
    ReadOnly,
    #[error("OOM command not allowed when used memory > 'maxmemory'.")]
    OutOfMemory,
    #[error(
        "ERR Can't execute '{0}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context"
    )]
    Subscriber(&'static str),

    // Connections
    #[error("WRONGPASS invalid username-password pair or user is disabled.")]
    WrongPass,
    #[error(
        "ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?"
    )]
    NoPasswordSet,
    #[error("NOPROTO unsupported protocol version")]
    NoProto,
    #[error("ERR Protocol version is not an integer or out of range")]
    ProtocolNotInteger,
    #[error("ERR Syntax error in HELLO option '{0}'")]
    HelloOption(String),
    #[error(
        "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time"
    )]
    HelloNoAuth,
    #[error("ERR Client names cannot contain spaces, newlines or special characters.")]
    ClientName,
    #[error("ERR DB index is out of range")]
    Database,
    #[error("ERR value is out of range, value must between -2147483648 and 2147483647")]
    NotInt32,

    // Data
    #[error("WRONGTYPE Operation against a key holding the wrong kind of value")]
    WrongType,
    #[error("ERR value is not an integer or out of range")]
    NotInteger,
    #[error("ERR hash value is not an integer")]
    HashNotInteger,
    #[error("ERR increment or decrement would overflow")]
    Overflow,
    #[error("ERR syntax error")]
    Syntax,

    // Servers
    #[error("ERR timeout is not an integer or out of range")]
    TimeoutNotInteger,
    #[error("ERR timeout is negative")]
    TimeoutNegative,
    #[error(
        "ERR WAIT cannot be used with replica instances. Please also note that since Redis 4.0 if a replica is configured to be writable (which is not the default) writes to replicas are just local and are not propagated."
    )]
    WaitOnReplica,

    // Scripts, from outside
    #[error("NOSCRIPT No matching script. Please use EVAL.")]
    NoScript,
    #[error("ERR Number of keys can't be greater than number of args")]
    TooManyKeys,
    #[error("ERR Number of keys can't be negative")]
    NegativeKeys,
    #[error("ERR Error compiling script (new function): {0}")]
    Compile(String),
    #[error("ERR Invalid script shebang")]
    Shebang,
    #[error("ERR Unexpected engine in script shebang: {0}")]
    ShebangEngine(String),
    #[error("ERR Unknown lua shebang option: {0}")]
    ShebangOption(String),
    #[error("ERR Unexpected flag in script shebang: {0}")]
    ShebangFlag(String),
    #[error("ERR SCRIPT FLUSH only support SYNC|ASYNC option")]
    ScriptFlush,

    // Scripts, from inside
    #[error("ERR Unknown Redis command called from script")]
    UnknownFromScript,
    #[error("ERR Wrong number of args calling Redis command from script")]
    ArityFromScript,
    #[error("ERR This Redis command is not allowed from script")]
    NotFromScript,
    #[error("ERR Please specify at least one argument for this redis lib call")]
    NoArgument,
    #[error("ERR Lua redis lib command arguments must be strings or integers")]
    ArgumentType,
}

impl Refusal {
    /// An unknown command echoes its arguments, up to a C string's end and 128 bytes in all.
    pub(super) fn unknown_command(args: &[Bytes]) -> Self {
        const MOST: usize = 128;
        let mut echoed = String::new();
        for arg in &args[1..] {
            if echoed.len() >= MOST {
                break;
            }
            let shown = c_string(arg, MOST - echoed.len());
            echoed.extend(["'", &shown, "' "]);
        }
        Self::UnknownCommand { name: c_string(&args[0], MOST), args: echoed }
    }
}

/// The first `most` bytes as C's `%.*s` prints them: up to a zero byte.
pub(super) fn c_string(bytes: &[u8], most: usize) -> String {
    let bytes = &bytes[..bytes.len().min(most)];
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

impl From<Refusal> for Reply {
    fn from(refusal: Refusal) -> Self {
        Self::Error(refusal.to_string().into())
    }
}
