# den's marks for fish. The line above, which den wrote, sets __den_token. By
# the time this is read, fish has read the user's configuration.

function __den_mark
    builtin printf '\e]133;%s;den=%s\e\\' $argv[1] $__den_token
end

# fish keeps $status and $pipestatus over event handlers.
function __den_preexec --on-event fish_preexec
    set -g __den_due 1
    __den_mark C
end

function __den_postexec --on-event fish_postexec
    __den_mark "D;$status"
    set -g __den_due
end

# A line with an error of syntax stays in the editor, and Ctrl-C drops it. In
# both cases fish shows the prompt again without saying so by an event.
function __den_error --on-event fish_posterror
    __den_mark "D;127"
end

function __den_cancel --on-event fish_cancel
    __den_mark "D;130"
end

function __den_prompt --on-event fish_prompt
    set -l s $status
    # An error of syntax, or nothing: no command ran.
    if test "$__den_due" = 1
        __den_mark "D;$s"
    end
    set -g __den_due 1
    __den_wrap
    __den_insert
    __den_mark A
end

# __den_empty empties the editor whatever it holds. den presses its key, which
# no keyboard has, before it types code. Ctrl-C alone says nothing about an
# empty line, and leaves vi's command mode only sometimes.
function __den_empty
    commandline --function cancel # an open list of completions takes keys for itself
    commandline ''
    __den_insert
    commandline --function repaint-mode
    __den_mark K
end

# __den_insert leaves any mode in which keys are not text.
function __den_insert
    set -l mode default
    if string match --quiet --regex '_(vi|hybrid)_' -- "$fish_key_bindings"
        set mode insert
    end
    test "$fish_bind_mode" = $mode; or set -g fish_bind_mode $mode
end
for __den_mode in default insert visual replace replace_one paste
    bind --mode $__den_mode \e\[5379~ __den_empty
end
set --erase __den_mode

# __den_wrap puts the B mark after the prompt, again when the user or a theme
# has defined a new one. The user's comes first in it, so that it sees $status.
function __den_wrap
    if test "$(functions --details --verbose fish_prompt)[5]" = 'den and __den_user_prompt'
        return
    end
    functions --query __den_user_prompt; and functions --erase __den_user_prompt
    functions --copy fish_prompt __den_user_prompt
    function fish_prompt --description 'den and __den_user_prompt'
        __den_user_prompt
        __den_mark B
    end
end
