# den's marks for zsh: its .zshenv. The lines above, which den wrote, restore
# ZDOTDIR, so that zsh itself reads all other files of the user, and set
# __den_token. This one reads the user's .zshenv and leaves hooks behind that
# do the rest when the first prompt is due.

if [[ -o rcs && -r ${ZDOTDIR-$HOME}/.zshenv ]]; then
	builtin source ${ZDOTDIR-$HOME}/.zshenv
fi

# A child of /etc/zshenv may get here too.
if [[ -o interactive ]]; then
	typeset -g +x __den_token
	typeset -ga precmd_functions preexec_functions

	# Code is not typed by a person who remembers what ran before: with history
	# expansion an exclamation mark runs something else. The user's own files
	# may turn it on again.
	builtin unsetopt banghist

	# %{ and %} tell the line editor that what is between them takes no room.
	typeset -g __den_a=$'%{\e]133;A;den='$__den_token$'\e\\%}'
	typeset -g __den_b=$'%{\e]133;B;den='$__den_token$'\e\\%}'
	typeset -g __den_q=$'%{\e]133;P;k=s;den='$__den_token$'\e\\%}'
	# zsh marks the end of output that has no newline before any hook runs, so
	# the D mark rides on that, with the status as a prompt expands it.
	typeset -g __den_d=$'%{\e]133;D;%?;den='$__den_token$'\e\\%}'
	typeset -g __den_shown=

	# What is defined inside keeps these options whatever the user sets, so
	# set -x, -e and -u do not reach it. Redirections hide a DEBUG trap.
	builtin emulate zsh -o noxtrace -o noerrexit -o noerrreturn -o unset -o noallexport -c '
		# __den_precmd is the last hook before a prompt.
		__den_precmd() {
			builtin local s=$? pushed
			if [[ -n $__den_shown && ! ( -o promptsp && -o promptcr && ${PROMPT_EOL_MARK-} == "$__den_d"* ) ]]; then
				builtin printf "\e]133;D;%s;den=%s\e\\\\" $s $__den_token >/dev/tty
			fi
			__den_shown=1
			# Text that print -z or push-line left for the next line: it stays for
			# whoever types there, and den is told that the line is not empty.
			if builtin read -rz pushed; then
				builtin print -rz -- "$pushed"
				builtin printf "\e]133;Z;den=%s\e\\\\" $__den_token >/dev/tty
			fi
			__den_order
			# Never twice, wherever a theme has put what it found.
			if [[ $PS1 != "$__den_a"*"$__den_b" ]]; then
				PS1=$__den_a${${PS1//$__den_a/}//$__den_b/}$__den_b
			fi
			if [[ $PS2 != "$__den_q"* ]]; then PS2=$__den_q${PS2//$__den_q/}; fi
			if [[ ${PROMPT_EOL_MARK-} != "$__den_d"* ]]; then
				# The default is what zsh shows when it is not set.
				builtin typeset -g PROMPT_EOL_MARK=$__den_d${PROMPT_EOL_MARK-%B%S%#%s%b}
			fi
		} >/dev/null 2>&1

		# __den_preexec is the last hook before a command. The command and its
		# children see the prompts of the user.
		__den_preexec() {
			__den_shown=1
			__den_order
			PS1=${${PS1//$__den_a/}//$__den_b/}
			PS2=${PS2//$__den_q/}
			# It must stay as it is, so a zsh in this one may not inherit it.
			builtin typeset -g +x PROMPT_EOL_MARK
			builtin printf "\e]133;C;den=%s\e\\\\" $__den_token >/dev/tty
		} >/dev/null 2>&1

		# __den_order keeps both hooks last, and brings one back that was lost.
		__den_order() {
			if [[ ${precmd_functions[-1]-} != __den_precmd ]]; then
				builtin typeset -ga precmd_functions
				precmd_functions=(${precmd_functions:#__den_precmd} __den_precmd)
			fi
			if [[ ${preexec_functions[-1]-} != __den_preexec ]]; then
				builtin typeset -ga preexec_functions
				preexec_functions=(${preexec_functions:#__den_preexec} __den_preexec)
			fi
		}
	'

	precmd_functions+=(__den_precmd)
	preexec_functions+=(__den_preexec)
fi
