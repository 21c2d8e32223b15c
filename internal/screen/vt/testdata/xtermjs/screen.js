// Reads one JSON object a line, {"cols", "rows", "data": base64}, feeds the data
// to a fresh terminal of @xterm/headless and answers with one line: the cursor,
// and each row's cells as strings that TestXtermJS compares with den's.
const packages = process.argv[2] + '/node_modules/@xterm/';
const { Terminal } = require(packages + 'headless');
const { Unicode11Addon } = require(packages + 'addon-unicode11');
const readline = require('readline');

function color(isDefault, isRGB, value) {
  if (isDefault) return '-';
  return isRGB ? '#' + value.toString(16).padStart(6, '0') : String(value);
}

function describe(cell) {
  if (cell.getWidth() === 0) return '';
  const attrs = [
    [cell.isBold(), 'b'], [cell.isDim(), 'd'], [cell.isItalic(), 'i'], [cell.isUnderline(), 'u'], [cell.isBlink(), 'k'],
    [cell.isInverse(), 'r'], [cell.isInvisible(), 'h'], [cell.isStrikethrough(), 's'], [cell.isOverline(), 'o'],
  ].filter(([on]) => on).map(([, name]) => name).join('');
  const fg = color(cell.isFgDefault(), cell.isFgRGB(), cell.getFgColor());
  const bg = color(cell.isBgDefault(), cell.isBgRGB(), cell.getBgColor());
  return `${cell.getWidth()} ${cell.getChars() || ' '} ${fg} ${bg} ${attrs}`;
}

// xterm.js parses in a timer of its own: what it throws there belongs to the
// terminal at hand.
let fail = () => {};
process.on('uncaughtException', (error) => fail(error));

async function show({ cols, rows, data }) {
  const term = new Terminal({ cols, rows, scrollback: 1000, allowProposedApi: true });
  term.loadAddon(new Unicode11Addon());
  term.unicode.activeVersion = '11';
  await new Promise((done, failed) => {
    fail = failed;
    term.write(Buffer.from(data, 'base64'), done);
  });
  const buffer = term.buffer.active;
  const screen = [];
  for (let y = 0; y < rows; y++) {
    const line = buffer.getLine(buffer.baseY + y);
    const cells = [];
    for (let x = 0; x < cols; x++) cells.push(describe(line.getCell(x)));
    screen.push(cells);
  }
  const answer = { row: buffer.cursorY, col: Math.min(buffer.cursorX, cols - 1), pending: buffer.cursorX === cols, screen };
  term.dispose();
  return answer;
}

(async () => {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const answer = await show(JSON.parse(line)).catch((error) => ({ failed: String(error) }));
    process.stdout.write(JSON.stringify(answer) + '\n');
  }
})();
