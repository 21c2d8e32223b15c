# den's marks for bash. The lines above, which den wrote, set:
#   __den_token     what tells den's marks from others
#   __den_start     rc, login or prompt: how this file was loaded
#   __den_rc        rc: the file that bash would have read, or empty
#   __den_noprofile login: not empty when the login files are not to be read
#   __den_argv0     login: what $0 was to be, or empty
#   __den_prompt    prompt: what PROMPT_COMMAND was, or unset
#   __den_noedit    not empty when readline is not used
#
# All of it must hold under set -e, -u and -x, with any IFS, and without
# a fork. No name here is exported. What goes into PS1, PS2 and PS0 must be
# nothing, not an error, in a nested shell of any kind that inherits them.

# Code is not typed by a person who remembers what ran before: with history
# expansion an exclamation mark inside double quotes runs something else. The
# user's own files may turn it on again.
{ builtin set +H || :; } 2>/dev/null

# \001 and \002 tell readline that what is between them takes no room.
if [[ -n ${__den_noedit-} ]]; then __den_o= __den_c=; else __den_o=$'\001' __den_c=$'\002'; fi
__den_a=$__den_o$'\e]133;A;den='$__den_token$'\e\\'$__den_c
__den_b=$__den_o$'\e]133;B;den='$__den_token$'\e\\'$__den_c
__den_d=$__den_o$'\e]133;D;'
__den_e=$';den='$__den_token$'\e\\'$__den_c
__den_q=$__den_o$'\e]133;P;k=s;den='$__den_token$'\e\\'$__den_c
__den_x=$'\e]133;C;den='$__den_token$'\e\\'

# __den_p is unset before the first prompt, 1 when a D mark is due, else
# empty. Expanding PS1 or PS0 sets it to 1: the one thing that an expansion
# can do to the shell that makes it. So D comes with PS1 when the
# user has taken the hook below out of PROMPT_COMMAND.
__den_l1='${__den_a:+${__den_p:+$__den_d$?$__den_e}$__den_a}'
__den_r1='${__den_b:+${__den_b#$((__den_p=1))}}'
__den_l2='${__den_q:+$__den_q}'
__den_r0='${__den_x:+${__den_x#$((__den_p=1))}}'
# The same for shopt -u promptvars.
__den_v1='\[\e]133;A;den='$__den_token'\e\\\]'
__den_w1='\[\e]133;B;den='$__den_token'\e\\\]'
__den_v2='\[\e]133;P;k=s;den='$__den_token'\e\\\]'
__den_w0='\e]133;C;den='$__den_token'\e\\'

# The redirections hide what set -x and a DEBUG trap would say about them.
# `&&` keeps set -e from seeing the status that the first must hand on.
__den_first='{ __den_pre "$_" && : "$_"; } >/dev/null 2>&1'
__den_last='{ __den_post || :; } >/dev/null 2>&1'
__den_quiet=

__den_end() {
	builtin printf '\e]133;D;%s;den=%s\e\\' "$1" "$__den_token" >/dev/tty
	__den_p=
}

# __den_pre is what PROMPT_COMMAND runs before the user's: the command ended.
__den_pre() {
	local s=$?
	if [[ -n ${__den_p+x} ]]; then __den_end "$s"; fi
	if [[ -n $__den_quiet ]] && ! __den_wrapped; then
		__den_wrap
		__den_hook "$__den_last"
	fi
	return "$s"
}

# __den_post is what PROMPT_COMMAND runs after the user's, which may have
# set PS1 or PROMPT_COMMAND.
__den_post() {
	local s=$?
	if [[ -n ${__den_p-} ]]; then __den_end "$s"; fi
	__den_p=
	if [[ -n ${__den_seen-} && $__den_seen == "${PS1-}$__den_a${PS2-}$__den_a${PS0-}$__den_a${PROMPT_COMMAND[*]-}" ]] && shopt -q promptvars; then
		return # nothing was set since
	fi
	if [[ -n $__den_quiet ]] && __den_wrapped; then
		__den_hook ''
	else
		__den_wrap
		__den_hook "$__den_last"
	fi
	# The bash-preexec library takes any command after its own last hook for
	# one that the user typed.
	__den_seen=
	if declare -F __bp_interactive_mode >/dev/null; then
		__bp_interactive_mode
	elif [[ -z $__den_quiet ]]; then
		__den_seen=${PS1-}$__den_a${PS2-}$__den_a${PS0-}$__den_a${PROMPT_COMMAND[*]-}
	fi
}

__den_wrapped() {
	if shopt -q promptvars; then
		[[ ${PS1-} == "$__den_l1"*"$__den_r1" ]]
	else
		[[ ${PS1-} == "$__den_v1"*"$__den_w1" ]]
	fi
}

# __den_wrap puts the marks around the prompts, wherever they stood before.
__den_wrap() {
	local v l1=$__den_l1 r1=$__den_r1 l2=$__den_l2 r0=$__den_r0
	if ! shopt -q promptvars; then l1=$__den_v1 r1=$__den_w1 l2=$__den_v2 r0=$__den_w0; fi
	if [[ ${PS1-} != "$l1"*"$r1" ]]; then
		v=${PS1-}
		v=${v//"$__den_l1"/} v=${v//"$__den_r1"/} v=${v//"$__den_v1"/} v=${v//"$__den_w1"/}
		PS1=$l1$v$r1
	fi
	if [[ ${PS2-} != "$l2"* ]]; then
		v=${PS2-}
		v=${v//"$__den_l2"/} v=${v//"$__den_v2"/}
		PS2=$l2$v
	fi
	# PS0 came with bash 4.4.
	if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 404)) && [[ ${PS0-} != *"$r0" ]]; then
		v=${PS0-}
		v=${v//"$__den_r0"/} v=${v//"$__den_w0"/}
		PS0=$v$r0
	fi
}

# __den_hook puts the hooks into PROMPT_COMMAND, the last one only if given.
# The first shares an element with the user's, so that PROMPT_COMMAND=x
# replaces theirs and not more.
__den_hook() {
	local i v last=$1 n=$'\n'
	if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] < 501)); then # not an array yet
		v=${PROMPT_COMMAND-}
		if [[ $v == "$__den_first"* && $v == *"$__den_last" ]]; then return; fi
		__den_strip
		PROMPT_COMMAND=$__den_first${v:+$n$v}$n$__den_last
		declare +x PROMPT_COMMAND
		return
	fi
	if [[ ${PROMPT_COMMAND-} == "$__den_first"* ]]; then
		if [[ -n $last && ${PROMPT_COMMAND[-1]} == "$last" ]]; then return; fi
		if [[ -z $last && "${PROMPT_COMMAND[*]}" != *"$__den_last"* ]]; then return; fi
	fi
	if [[ ${PROMPT_COMMAND@a} == *r* ]]; then return; fi # readonly: PS1 does it alone
	for i in "${!PROMPT_COMMAND[@]}"; do
		v=${PROMPT_COMMAND[i]}
		__den_strip
		if [[ -n $v ]]; then PROMPT_COMMAND[i]=$v; else unset "PROMPT_COMMAND[$i]"; fi
	done
	v=${PROMPT_COMMAND[0]-}
	PROMPT_COMMAND[0]=$__den_first${v:+$n$v}
	if [[ -n $last ]]; then PROMPT_COMMAND+=("$last"); fi
}

# __den_strip takes the hooks out of v, whatever somebody put around them.
__den_strip() {
	local h
	for h in "$__den_first" "$__den_last"; do
		v=${v//"$h$n"/} v=${v//"$h; "/} v=${v//"$h;"/} v=${v//"$n$h"/} v=${v//"; $h"/} v=${v//";$h"/} v=${v//"$h"/}
	done
}

# __den_install gets a word if the user has a DEBUG trap. Such traps as a rule
# time commands, and are misled by a hook that runs after the user's own. So
# with one the last hook stays only where it is needed.
__den_install() {
	__den_quiet=$1
	unset __den_start __den_rc __den_noprofile __den_argv0 __den_prompt __den_noedit __den_o __den_c
	unset -f __den_install
	__den_wrap
	__den_hook "$__den_last"
}

case $__den_start in
rc)
	if [[ -e $__den_rc ]]; then . "$__den_rc"; fi
	;;
login)
	if [[ -n ${__den_argv0-} ]]; then BASH_ARGV0=$__den_argv0; fi
	if [[ -z ${__den_noprofile-} ]]; then
		if [[ -e /etc/profile ]]; then . /etc/profile; fi
		if [[ -e ~/.bash_profile ]]; then
			. ~/.bash_profile
		elif [[ -e ~/.bash_login ]]; then
			. ~/.bash_login
		elif [[ -e ~/.profile ]]; then
			. ~/.profile
		fi
	fi
	;;
prompt)
	# bash read no file, so this is the first run of PROMPT_COMMAND.
	if [[ -n ${__den_prompt+x} ]]; then
		PROMPT_COMMAND=$__den_prompt
		eval "$PROMPT_COMMAND"
	else
		unset PROMPT_COMMAND
	fi
	;;
esac
# The trap is not asked for in a subshell: where the system refuses to fork, a
# shell tries again for many seconds, and then there would be no marks.
{
	builtin trap -p DEBUG >|"${BASH_SOURCE[0]}.debug" || :
	if [[ -s ${BASH_SOURCE[0]}.debug ]]; then __den_install 1; else __den_install ''; fi
} >/dev/null 2>&1
