// A client of irc-framework. It prints what it receives as JSON Lines: how it
// was registered, messages, and the history of the channel.
const { Client } = require(process.argv[2] + '/node_modules/irc-framework');
const [host, port, nick, channel, password] = process.argv.slice(3);

const print = (event) => console.log(JSON.stringify(event));
const client = new Client();
client.requestCap(['draft/chathistory', 'labeled-response', 'standard-replies']);
client.on('registered', () => {
	print({ event: 'registered', nick: client.user.nick, caps: client.network.cap.enabled });
	client.join(channel);
});
client.on('loggedin', (e) => print({ event: 'loggedin', account: e.account }));
client.on('join', (e) => {
	if (e.nick !== client.user.nick) return;
	client.say(channel, 'hello from irc-framework');
	client.raw('CHATHISTORY', 'LATEST', channel, '*', '10');
});
client.on('privmsg', (e) => {
	if (e.batch) return;
	print({ event: 'message', from: e.nick, target: e.target, text: e.message, id: e.tags.msgid, own: e.from_server === false && e.nick === client.user.nick });
	if (e.message === 'leave') client.quit('done');
});
client.on('batch end chathistory', (e) => {
	const texts = e.commands.map((c) => c.params[c.params.length - 1]);
	print({ event: 'history', target: e.params[0], texts });
});
client.on('close', () => process.exit(0));
client.connect({
	host, port: Number(port), nick, username: nick, gecos: nick, auto_reconnect: false, enable_echomessage: true,
	account: { account: nick, password },
});
