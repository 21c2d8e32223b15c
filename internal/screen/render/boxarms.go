package render

// boxArms has the four arms of each box drawing character from U+2500 on:
// left, right, up, down. l is a light line, h a heavy and d a double one.
// Dashes, arcs and diagonals have none: see boxSpecial.
var boxArms = [128]string{
	"ll--", "hh--", "--ll", "--hh", "----", "----", "----", "----", "----", "----", "----", "----", "-l-l", "-h-l", "-l-h", "-h-h",
	"l--l", "h--l", "l--h", "h--h", "-ll-", "-hl-", "-lh-", "-hh-", "l-l-", "h-l-", "l-h-", "h-h-", "-lll", "-hll", "-lhl", "-llh",
	"-lhh", "-hhl", "-hlh", "-hhh", "l-ll", "h-ll", "l-hl", "l-lh", "l-hh", "h-hl", "h-lh", "h-hh", "ll-l", "hl-l", "lh-l", "hh-l",
	"ll-h", "hl-h", "lh-h", "hh-h", "lll-", "hll-", "lhl-", "hhl-", "llh-", "hlh-", "lhh-", "hhh-", "llll", "hlll", "lhll", "hhll",
	"llhl", "lllh", "llhh", "hlhl", "lhhl", "hllh", "lhlh", "hhhl", "hhlh", "hlhh", "lhhh", "hhhh", "----", "----", "----", "----",
	"dd--", "--dd", "-d-l", "-l-d", "-d-d", "d--l", "l--d", "d--d", "-dl-", "-ld-", "-dd-", "d-l-", "l-d-", "d-d-", "-dll", "-ldd",
	"-ddd", "d-ll", "l-dd", "d-dd", "dd-l", "ll-d", "dd-d", "ddl-", "lld-", "ddd-", "ddll", "lldd", "dddd", "----", "----", "----",
	"----", "----", "----", "----", "l---", "--l-", "-l--", "---l", "h---", "--h-", "-h--", "---h", "lh--", "--lh", "hl--", "--hl",
}
