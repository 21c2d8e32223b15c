# den's marks for sh, where sh is dash, the ash of busybox, or bash. The lines
# above, which den wrote, restore ENV and set:
#   __den_token  what tells den's marks from others
#   __den_kind   dash or busybox, or empty
#   __den_dir    where den.bash is
#   __den_t      the escape character, which sh can name by a fork only

if [ -n "${ENV-}" ]; then
	# As the shell itself would have: the value is expanded first.
	eval "__den_env=\"$ENV\""
	if [ -r "$__den_env" ]; then . "$__den_env"; fi
	unset __den_env
fi
if [ -n "${BASH_VERSION-}" ]; then
	. "$__den_dir/den.bash"
	unset __den_kind __den_dir __den_t
elif [ -n "$__den_kind" ]; then
	# There is nothing but the prompt here: no hook before a command, so no
	# C mark. Expanding PS1 sets __den_p, so that the first has no D mark.
	# In a nested shell that inherits PS1 all of it is nothing.
	__den_z="$__den_t\\"
	__den_o= __den_c=
	if [ "$__den_kind" = busybox ]; then
		# Its line editor reads \[, \] and \\ after the expansion.
		__den_o='\[' __den_c='\]' __den_z="$__den_t\\\\"
	fi
	__den_a="$__den_o$__den_t]133;A;den=$__den_token$__den_z$__den_c"
	__den_b="$__den_o$__den_t]133;B;den=$__den_token$__den_z$__den_c"
	__den_d="$__den_o$__den_t]133;D;"
	__den_e=";den=$__den_token$__den_z$__den_c"
	__den_q="$__den_o$__den_t]133;P;k=s;den=$__den_token$__den_z$__den_c"
	PS1='${__den_a:+${__den_p:+$__den_d$?$__den_e}$__den_a}'"${PS1-}"'${__den_b:+${__den_b#$((__den_p=1))}}'
	PS2='${__den_q:+$__den_q}'"${PS2-}"
	unset __den_kind __den_dir __den_token __den_t __den_z __den_o __den_c
fi
